#include "coconet/plan/one_shot.h"

#include <gtest/gtest.h>

#include "tests/support/planned.h"

namespace coconet::plan {
namespace {

Plan plan_of(const std::string& program, const std::string& steps = "",
             const std::vector<int>& mesh = {2}) {
  const std::string axes = mesh.size() > 1 ? "dp,tp" : "dp";
  return planned("mesh world(" + axes + ")\ndim N\n" + program, steps, {{"N", 12}}, mesh).plan;
}

std::vector<std::string> exchanged(const Plan& plan) {
  std::vector<std::string> out;
  for (const BufferId buffer : exchangeable(plan)) out.push_back(plan.buffer(buffer).name);
  return out;
}

TEST(OneShot, OfSumsOfInputs) {
  const Plan sum = plan_of("program p(x: f32[N] local) { y = all_reduce(x, +)  return y }");
  EXPECT_TRUE(allows_one_shot(sum));
  EXPECT_EQ(exchanged(sum), std::vector<std::string>{"x"});
  const Kernel& kernel = std::get<Kernel>(sum.launches.at(0).work);
  EXPECT_FALSE(kernel.space.layout.all_replicated());
  EXPECT_TRUE(one_shot_space(kernel).layout.all_replicated());
  // States that stay whole on every rank, norms and all.
  EXPECT_TRUE(allows_one_shot(
      plan_of("program p(g: f32[N] local, p: f32[N], state m: f32[N]) {\n  s = all_reduce(g, +)\n"
              "  m2 = update(m, m + s)\n  p2 = update(p, p - m2 * norm(m2))\n  return p2\n}")));
  EXPECT_TRUE(allows_one_shot(
      plan_of("program p(x: f32[N] local@[dp,tp]) { y = all_reduce(x, +)@[dp,tp]  return y }", "",
              {2, 2})));
}

TEST(OneShot, NotWhereRanksHoldOrMakeParts) {
  const auto allows = [](const std::string& program) { return allows_one_shot(plan_of(program)); };
  EXPECT_FALSE(allows("program p(x: f32[N] local) { y = reduce_scatter(x, +, (*))  return y }"));
  EXPECT_FALSE(allows("program p(x: f32[N] sliced(*)) { y = all_gather(x)  return y }"));
  EXPECT_FALSE(allows("program p(x: f32[N] local) { y = shift(x, dp, 1)  return y }"));
  EXPECT_FALSE(allows("program p(x: f32[N] local) { y = reduce(x, +, 0)  return y }"));
  // A temporary is read of peers.
  const Plan doubled = plan_of(
      "program p(x: f32[N] local) {\n  t = x * 2\n  y = all_reduce(t, +)\n  return y, t\n}");
  EXPECT_TRUE(exchanged(doubled).empty());
  EXPECT_FALSE(allows_one_shot(doubled));
  // The old value is read of peers, and the input is written in the same call.
  const Plan updated = plan_of(
      "program p(x: f32[N] local) {\n  y = all_reduce(x, +)\n  x2 = update(x, x * 2)\n  return "
      "y\n}");
  EXPECT_TRUE(exchanged(updated).empty());
  EXPECT_FALSE(allows_one_shot(updated));
  const Planned step = planned(kNormStep, kNormStepSharded, {{"N", 10}}, {2});
  EXPECT_FALSE(allows_one_shot(step.plan));
}

// Of rows alone: a flat tensor's blocks are as quickly made by one rank and given to the others.
TEST(OneShot, IsForASingleRowAsOneRankWouldDoItAll) {
  const auto alone = [](const std::string& ops, const std::string& steps, std::int64_t rows) {
    const Planned sample = planned(
        "mesh world(tp)\ndim M, N\nprogram p(x: f32[M,N] local) {\n"
        "  total = all_reduce(x, +)\n" +
            ops + "  return y\n}\n",
        steps, {{"M", rows}, {"N", 5}}, {3});
    EXPECT_TRUE(allows_one_shot(sample.plan));
    return one_rank_does_all(bind(sample.plan, sample.setting.sizes, sample.setting.mesh));
  };
  const std::string ops = "  y = softmax(total)\n";
  const std::string steps =
      "rs, ag = split(total, (0)) body, gy = reorder(ag, [y]) fuse(rs, body, gy)";
  EXPECT_TRUE(alone(ops, steps, 1));
  EXPECT_FALSE(alone(ops, steps, 2));
  EXPECT_FALSE(alone("  y = total * 2\n", "", 1));
}

}  // namespace
}  // namespace coconet::plan
