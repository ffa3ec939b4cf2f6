// Cases that random ones found, kept as texts: the interpreter's bits before and after the
// schedule, and the executor's.
#include <gtest/gtest.h>

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
    plan::verify_order(plan::bind(after.plan, sizes, after.setting.mesh, {chunks}));
    for (int seed = 0; seed < 4; ++seed) {
      const simulate::ExecutorOptions options{
          simulate::policy_of(seed), static_cast<std::uint64_t>(seed), {chunks}};
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
