// Plans over lists: the executor gives the interpreter's bits, whatever a fused kernel holds.
#include <gtest/gtest.h>

#include "coconet/base/error.h"
#include "coconet/plan/verify.h"
#include "coconet/simulate/executor.h"
#include "tests/support/planned.h"

namespace coconet::simulate {
namespace {

void expect_same(const std::string& body, const std::string& steps, int ranks) {
  SCOPED_TRACE(body + "\n" + steps + " on " + std::to_string(ranks));
  const std::string program =
      "mesh world(dp)\ndim N_i, M_i\nprogram lists(g: f16[N_i] list local, p: f32[N_i] list,\n"
      "  q: f32[M_i,N_i] list, s: f32[] list, state m: f32[N_i] list, state r: f32[] list) {\n" +
      body + "\n}\n";
  Sizes sizes;
  sizes.lists["N_i"] = {5, 1027, 0, 1, 2048};
  sizes.lists["M_i"] = {3, 0, 2, 1200, 1};
  const Planned sample = planned(program, steps, sizes, {ranks});
  plan::verify(sample.plan);
  if (ranks <= 2) plan::verify_order(plan::bind(sample.plan, sizes, sample.setting.mesh));
  const interp::Result want = sample.meaning();
  for (int seed = 0; seed < (ranks <= 3 ? 4 : 2); ++seed) {
    const ExecutorOptions options{policy_of(seed), static_cast<std::uint64_t>(seed), {}};
    EXPECT_TRUE(same_results(sample.graph,
                             execute(sample.plan, sample.setting, sample.inputs, options), want));
  }
}

class ListPlans : public testing::TestWithParam<int> {};

TEST_P(ListPlans, Unscheduled) {
  const int ranks = GetParam();
  expect_same("  y = p - 0.5 * all_reduce(cast(g, f32), +)\n  return y", "", ranks);
  expect_same("  y = norm(q)\n  z = mean(q)\n  return y, z", "", ranks);
  expect_same("  a = q * s\n  b = across(s, max)\n  c = s / b\n  return a, b, c", "", ranks);
  expect_same("  y = dropout(all_reduce(g, +), 0.5)\n  z = all_reduce(norm(g), +)\n  return y, z",
              "", ranks);
  expect_same("  a = shard(p, (*))\n  n = norm(a)\n  y = all_gather(a / n)\n  return y, n", "",
              ranks);
  expect_same("  y = shift(g, dp, 1)\n  z = shift(norm(g), dp, -1)\n  return y, z", "", ranks);
  expect_same("  m2 = update(m, m + p * s)\n  r2 = update(r, norm(m2))\n  return r2", "", ranks);
  expect_same(
      "  y = broadcast(reduce(g, max, 0))\n  z = all_reduce(g * cast(s, f16), +)\n"
      "  return y, z",
      "", ranks);
}

TEST_P(ListPlans, FusedWithWhatIsOneOfEachMember) {
  const std::string body =
      "  total = all_reduce(cast(g, f32), +)\n  n = norm(total)\n  k = where(n > 1, 1 / n, s)\n"
      "  w = across(k, +)\n  d = k / w\n  p2 = update(p, p - total * d)\n";
  const std::string moved = "rs, ag = split(total)\n  body, gp = reorder(ag, [n, k, w, d, p2])\n";
  const int ranks = GetParam();
  expect_same(body + "  return p2, d, w", moved, ranks);
  for (const char* outputs : {"p2", "p2, n", "p2, k, d, w"}) {
    expect_same(body + "  return " + outputs, moved + "  fuse(rs, body, gp)", ranks);
  }
}

TEST_P(ListPlans, FusedUpdatesOfScalarsOfEachMember) {
  const std::string body =
      "  total = all_reduce(cast(g, f32), +)\n  n = norm(total)\n  r2 = update(r, 0.9 * r + n)\n"
      "  w = across(r2, +)\n  m2 = update(m, m + total / r2)\n  p2 = update(p, p - w * m2)\n"
      "  return p2, w";
  expect_same(body,
              "rs, ag = split(total)\n  body, gm, gp = reorder(ag, [n, r2, w, m2, p2])\n"
              "  as_slice(m)\n  dead(gm)\n  fuse(rs, body, gp)",
              GetParam());
}

// As a launch of its own, in one kernel with what reads it (of its shape, of more dims, once a
// row), and before a collective.
TEST_P(ListPlans, AcrossOfTensors) {
  const std::string heading =
      "mesh world(dp)\ndim N_i, N, H\nprogram folds(g: f16[N_i,H] list local, p: f32[N_i,H] list,\n"
      "  h: f32[H,N_i] list, c: f32[N_i,1] list, w: f32[N,H], z: f32[2,N,H], state m: f32[N,H]) "
      "{\n";
  const auto expect = [&](const std::string& body, const std::string& steps,
                          std::vector<std::int64_t> n) {
    SCOPED_TRACE(body + "\n" + steps);
    Sizes sizes{{"N", n.empty() ? 9 : n[0]}, {"H", 300}};
    sizes.lists["N_i"] = std::move(n);
    const Planned sample = planned(heading + body + "\n}\n", steps, sizes, {GetParam()});
    plan::verify(sample.plan);
    EXPECT_GT(plan::verify_small(sample.plan).verified, 0);
    for (int seed = 0; seed < 2; ++seed) {
      const ExecutorOptions options{policy_of(seed), static_cast<std::uint64_t>(seed), {}};
      EXPECT_TRUE(same_results(sample.graph,
                               execute(sample.plan, sample.setting, sample.inputs, options),
                               sample.meaning()));
    }
  };
  const std::string fused =
      "  a = across(p, +, size=[N,H])\n  k = across(c, max, size=[N,1])\n  y = a * k + z\n"
      "  m2 = update(m, m * 2)\n  return y, m2";
  const std::string sent =
      "  l = across(cast(g, f32), +, size=[N,H])\n  total = all_reduce(l, +)\n"
      "  a = across(p, min, size=[N,H])\n  y = total * a + w\n  return y";
  for (const std::vector<std::int64_t>& n : {std::vector<std::int64_t>{}, {7}, {4, 4, 4}, {0, 0}}) {
    expect(fused, "", n);
    expect(fused, "fuse(a, k, y)", n);
    expect(
        "  a = across(p, +, size=[N,H])\n  k = across(c, max, size=[N,1])\n  y = a * k\n"
        "  m2 = update(m, y)\n  return m2",
        "fuse(a, k, y)", n);
    expect("  a = across(h, prod, size=[H,N])\n  y = a - 1\n  return y", "fuse(a, y)", n);
    expect(sent, "", n);
    expect(sent, "rs, ag = split(total)\n  b, gy = reorder(ag, [a, y])\n  fuse(rs, b, gy)", n);
  }
}

TEST_P(ListPlans, AcrossBehindAGather) {
  Sizes sizes{{"N", 1500}};
  sizes.lists["N_i"] = {1500, 1500};
  const Planned sample = planned(
      "mesh world(dp)\ndim N_i, N\nprogram p(g: f16[N_i] list local) {\n"
      "  total = all_reduce(g, +)\n  t = relu(total)\n  y = across(t, +, size=[N])\n"
      "  return y\n}\n",
      "rs, ag = split(total)\n  body, gt = reorder(ag, [t])\n  fuse(rs, body, gt)", sizes,
      {GetParam()});
  plan::verify_small(sample.plan);
  EXPECT_TRUE(same_results(sample.graph,
                           execute(sample.plan, sample.setting, sample.inputs, ExecutorOptions{}),
                           sample.meaning()));
}

TEST_P(ListPlans, MeansOfSlices) {
  const int ranks = GetParam();
  expect_same("  a = shard(p, (*))\n  n = mean(a)\n  y = all_gather(a - n)\n  return y, n", "",
              ranks);
  const std::string body =
      "  total = all_reduce(cast(g, f32), +)\n  n = mean(total)\n  p2 = update(p, p - total * n)\n";
  const std::string moved = "rs, ag = split(total)\n  body, gp = reorder(ag, [n, p2])\n";
  expect_same(body + "  return p2, n", moved, ranks);
  expect_same(body + "  return p2, n", moved + "  fuse(rs, body, gp)", ranks);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ListPlans, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace coconet::simulate
