// Cases that random ones found, kept as texts: the interpreter's bits before and after the
// schedule, and the executor's.
#include <gtest/gtest.h>

#include "coconet/base/error.h"
#include "coconet/plan/verify.h"
#include "coconet/simulate/executor.h"
#include "tests/support/planned.h"

namespace coconet {
namespace {

void expect_sound(const std::string& program, const std::string& steps, const Sizes& sizes,
                  const std::vector<int>& mesh) {
  const Planned before = planned(program, "", sizes, mesh);
  const Planned after = planned(program, steps, sizes, mesh);
  const interp::Result want = before.meaning();
  EXPECT_TRUE(same_results(before.graph, after.meaning(), want));
  plan::verify(after.plan);
  for (std::int64_t chunks : {1, 3}) {
    const std::vector<std::int64_t> each(after.plan.overlaps.size(), chunks);
    const plan::BoundPlan bound = plan::bind(after.plan, sizes, after.setting.mesh, each);
    plan::verify_order(bound);
    plan::verify_contributions(bound);
    for (int seed = 0; seed < 4; ++seed) {
      const simulate::ExecutorOptions options{simulate::policy_of(seed),
                                              static_cast<std::uint64_t>(seed), each};
      const interp::Result got =
          simulate::execute(after.plan, after.setting, after.inputs, options);
      EXPECT_TRUE(same_results(after.graph, got, want)) << "chunks " << chunks;
    }
  }
}

TEST(Regression, ASlicedProductInChunksWorksOnItsOwnSlice) {
  const char* const program = R"(
mesh world(tp)
dim H
program p(x: f32[H,H] sliced(0), state s: f32[H,H] sliced(0), w: f32[H,H]) {
  v = update(s, x)
  out = all_gather(matmul(v, w))
  return out
})";
  expect_sound(program, "overlap(v, out)", {{"H", 7}}, {2});
}

// A rank that is ahead would write its neighbour's state before the neighbour has read it.
TEST(Regression, AStateThatIsReadAsItIsSentIsNotSentInPlace) {
  const char* const program = R"(
mesh world(pp)
dim N
program p(state m: f32[N] local, x: f32[N] local) {
  y = m * 2 + x
  s = shift(y, pp, 1, wrap)
  m2 = update(m, s)
  return m2
})";
  for (const char* steps : {"", "fuse(y, s)", "fuse(y, s, m2)"}) {
    expect_sound(program, steps, {{"N", 70}}, {3});
  }
}

TEST(Regression, AnAllReduceInChunksIsCutByRows) {
  const char* const program = R"(
mesh world(tp)
dim B, H
program p(x: f32[B,H] sliced(1), w: f32[H,H] sliced(0), b: f32[H]) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  out = total + b
  return out
})";
  expect_sound(program, "overlap(layer, total, out)", {{"B", 11}, {"H", 3}}, {3});
}

TEST(Regression, WhatFoldsTheRowsComesAfterTheChunks) {
  const char* const program = R"(
mesh world(tp)
dim N
program p(x: f32[N], g: f32[N], b: f32[N]) {
  v = silu(x)
  out = layer_norm(v, g, b, 0.001)
  return out
})";
  expect_sound(program, "overlap(v, out)", {{"N", 9}}, {2});
}

TEST(Regression, APartialOfAWholeValueIsAnotherForEachPeer) {
  const char* const program = R"(
mesh world(tp)
dim N
program p(x: bf16[N]) {
  total = all_reduce(as_partial(x, +), +)
  return total
})";
  expect_sound(program, "rs, ag = split(total, (*)) fuse(rs)", {{"N", 5}}, {3});
}

TEST(Regression, ASumOverSlicesFoldsWhatARankHolds) {
  const char* const program = R"(
mesh world(tp)
dim H, K
program p(x: f32[H,K] sliced(1)) {
  size = norm(x)
  return size
})";
  expect_sound(program, "", {{"H", 40}, {"K", 70}}, {3});
}

TEST(Regression, RowsOfNoElementsHaveTheirSums) {
  const char* const program = R"(
mesh world(tp)
dim B, H
program p(x: f32[B,H], y: f32[B,H] local) {
  s = sum(x, [1])
  t = all_reduce(sum(y, [1]), +)
  return s, t
})";
  expect_sound(program, "", {{"B", 4}, {"H", 0}}, {2});
}

TEST(Regression, AValueSlicedBeforeStaysSlicedWhenMoved) {
  const char* const program = R"(
mesh world(tp)
dim B, H
program p(x: f32[B,H] sliced(1), w: f32[H,H] sliced(0), w2: f32[H,H]) {
  total = all_reduce(matmul(x, w), +)
  size = norm(total)
  y = x * size
  out = matmul(y, w2, out=f32)
  return y, out
})";
  expect_sound(program, "rs, ag = split(total, (*)) body = reorder(ag, [size, y])",
               {{"B", 3}, {"H", 5}}, {2});
}

TEST(Regression, MovementOfDataRunsOnSlices) {
  const char* const program = R"(
mesh world(tp)
dim B, S, H, nh, hd
require H == nh * hd and nh % size(tp) == 0
program p(x: f32[B,S,H] partial(+), r: f32[B,S,H]) {
  total = all_reduce(x, +)
  y = reshape(total + r, [B*S,H])
  t = transpose(total, [2,0,1])
  u = reshape(t, [nh,hd,B,S]) * 2
  return y, t, u
})";
  const Sizes sizes = {{"B", 3}, {"S", 2}, {"H", 12}, {"nh", 4}, {"hd", 3}};
  expect_sound(program, "rs, ag = split(total, (0..1)) body, gy, gt = reorder(ag, [y, t])", sizes,
               {4});
  expect_sound(program, "rs, ag = split(total, (2)) body, gt, gu = reorder(ag, [t, u])", sizes,
               {4});
  expect_sound(program, "rs, ag = split(total, (*)) overlap(rs, ag)", sizes, {2});
  expect_sound(program, "rs, ag = split(total, (0..1)) overlap(rs, ag, y)", sizes, {2});
}

TEST(Regression, AnUpdateOfAViewOfWhatItsGroupComputesIsRefusedByThePlan) {
  const char* const program = R"(
mesh world(tp)
dim H
program p(x: f16[H], state s: f16[H] sliced(*)) {
  v = min(shard(x, (*)), x)
  w = update(s, shard(gelu(x), (*)))
  return v
})";
  EXPECT_THROW(planned(program, "fuse(v, w)", {{"H", 5}}, {2}), UserError);
  expect_sound(program, "fuse(v)", {{"H", 1500}}, {2});
}

// Of another shape a slice (*) is cut at other places: the two are no one kernel.
TEST(Regression, FlatSlicesOfColumnsAreNotThoseOfTheTensor) {
  const char* const program = R"(
mesh world(tp)
dim N, H
program p(x: f32[N,H], y: f32[N,1], z: f32[1,H]) {
  a = shard(x, (*)) * 2
  b = shard(y, (*)) * 2
  c = shard(z, (*)) * 2
  return a, b, c
})";
  const Sizes sizes = {{"N", 700}, {"H", 3}};
  expect_sound(program, "", sizes, {3});
  for (const char* steps : {"fuse(a, b)", "fuse(a, c)"}) {
    EXPECT_THROW(planned(program, steps, sizes, {3}), UserError) << steps;
  }
}

TEST(Regression, OverlapsOverAnySliceOnOneToEightRanks) {
  const char* const program = R"(
mesh world(tp)
dim N, H
program p(g: f32[N,H] local, b: f32[H]) {
  y = g * 3
  total = all_reduce(y, +)
  out = total + b
  return out
})";
  for (const std::string slice : {"(0)", "(1)", "(0..1)", "(*)"}) {
    const std::string steps = "rs, ag = split(total, " + slice +
                              ") body, gather = reorder(ag, [out]) "
                              "ar = fuse(rs, body, gather) overlap(y, ar)";
    for (int ranks = 1; ranks <= 8; ++ranks) {
      expect_sound(program, steps, {{"N", slice == "(*)" ? 701 : 11}, {"H", 5}}, {ranks});
    }
    const plan::Plan plan = planned(program, steps, {{"N", 11}, {"H", 5}}, {2}).plan;
    EXPECT_EQ(plan.overlaps.size(), slice == "(1)" ? 0u : 1u) << slice;
    EXPECT_EQ(plan.notes.size(), slice == "(1)" ? 1u : 0u) << slice;
  }
}

TEST(Regression, AReturnedValueIsDistributed) {
  const char* const program = R"(
mesh world(tp)
dim N
program p(x: f32[N]) {
  y = x * 2
  out = y + x
  return y, out, x
})";
  for (const char* steps : {"piece, whole = distribute(y) reorder(whole, [out])",
                            "piece, whole = distribute(x) reorder(whole, [y, out])"}) {
    expect_sound(program, steps, {{"N", 1500}}, {2});
  }
}

TEST(Regression, OverlapsOverTwoAxes) {
  const char* const program = R"(
mesh world(dp, tp)
dim N
program p(g: f32[N] local@[dp,tp]) {
  y = g * 3
  total = all_reduce(y, +)@[dp,tp]
  return total
})";
  const std::string steps = "rs, ag = split(total, (0)) ar = fuse(rs, ag) overlap(y, ar)";
  for (const std::vector<int>& mesh : {std::vector<int>{1, 1}, {2, 2}, {2, 4}, {4, 2}, {1, 3}}) {
    expect_sound(program, steps, {{"N", 13}}, mesh);
  }
  const plan::Plan plan = planned(program, steps, {{"N", 13}}, {2, 2}).plan;
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_NE(plan.notes[0].find("slices are of several mesh axes"), std::string::npos);
}

TEST(Regression, AGatherInChunksFeedsAProduct) {
  const char* const program = R"(
mesh world(tp)
dim N, H
program p(x: f32[N,H] sliced(0), w: f32[H,H]) {
  a = x * 2
  whole = all_gather(a)
  out = matmul(whole, w)
  return out
})";
  for (int ranks : {1, 2, 3, 5}) {
    expect_sound(program, "overlap(a, whole, out)", {{"N", 13}, {"H", 2}}, {ranks});
  }
}

TEST(Regression, WhatRanksStackIsGatheredInOneKernel) {
  const char* const program = R"(
mesh world(tp)
dim H
program p(x: f16[H] local) {
  rows = stack(x)
  out = all_gather(rows)
  return out
})";
  for (int ranks : {1, 2, 3}) expect_sound(program, "fuse(rows, out)", {{"H", 5}}, {ranks});
  const Planned fused = planned(program, "fuse(rows, out)", {{"H", 5}}, {2});
  EXPECT_EQ(plan::verify_small(fused.plan).verified, 3);
}

TEST(Regression, BlocksOfSlicesOverTwoAxesAreOfTheTensor) {
  const char* const program = R"(
mesh world(dp, tp)
dim N, M
program p(x: f32[N,M] sliced(*)@[dp,tp]) {
  out = norm(x)
  return out
})";
  for (const std::vector<int>& mesh : {std::vector<int>{2, 2}, {3, 2}, {1, 3}}) {
    expect_sound(program, "", {{"N", 1280}, {"M", 3}}, mesh);
  }
}

// The storage of an update is written after its group where the old value is still returned.
TEST(Regression, AnUpdatedListIsReadInTheNextPhase) {
  const char* const program = R"(
mesh world(tp)
dim N_i
program p(g: f32[N_i] list local, s: f32[] list local, x: f32[] list local) {
  a = s * 2
  u = update(x, a)
  all = across(u, prod)
  out = u - all
  y = g / s
  return x, out, y
})";
  Sizes sizes;
  sizes.lists["N_i"] = {3, 1030};
  for (int ranks : {1, 2}) expect_sound(program, "fuse(a, u, all, out, y)", sizes, {ranks});
}

// The operand of an update is another by the time that a later kernel reads the update.
TEST(Regression, AnUpdatedListOfScalarsIsReadFromItsOwnStorage) {
  const char* const program = R"(
mesh world(tp)
dim N_i
program p(x: f32[N_i] list, a: f32[] list local, b: f32[] list local) {
  n = norm(x)
  u = update(b, a)
  t = update(a, shift(n, tp, -1))
  out = u * x
  return out
})";
  Sizes sizes;
  sizes.lists["N_i"] = {3, 1030};
  for (int ranks : {1, 2}) expect_sound(program, "", sizes, {ranks});
}

TEST(Regression, UnnamedUpdatesGiveNamesThatParse) {
  const char* const program = R"(
mesh world(dp)
dim N
program p(g: f32[N] local, state m: f32[N]) {
  total = all_reduce(g, +)
  out = update(m, m + total) * 0.125
  return out
})";
  expect_sound(program, "rs, ag = split(total) reorder(ag, [out])", {{"N", 1500}}, {2});
}

}  // namespace
}  // namespace coconet
