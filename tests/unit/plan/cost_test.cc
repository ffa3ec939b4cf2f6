// The cost model: more work takes longer, and what a schedule saves is seen.
#include "coconet/plan/cost.h"

#include <gtest/gtest.h>

#include "coconet/plan/one_shot.h"
#include "tests/support/planned.h"

namespace coconet::plan {
namespace {

double cost(const Planned& planned, const Rates& rates = {}, Protocol protocol = Protocol::direct) {
  const BoundPlan bound = bind(planned.plan, planned.setting.sizes, planned.setting.mesh);
  const Cost out = cost_of(bound, rates, protocol);
  EXPECT_EQ(out.launches.size(), planned.plan.launches.size());
  return out.microseconds;
}

Planned sum(std::int64_t n, int ranks = 2) {
  return planned(
      "mesh world(dp)\ndim N\nprogram p(x: f32[N] local) {\n  y = all_reduce(x, +)\n"
      "  return y\n}\n",
      "", {{"N", n}}, {ranks});
}

TEST(Cost, MoreElementsTakeLongerAndNothingTakesAWait) {
  double before = 0;
  for (const std::int64_t n : {0, 1 << 10, 1 << 14, 1 << 20}) {
    const double now = cost(sum(n));
    EXPECT_GT(now, before);
    before = now;
  }
  const Rates rates;
  EXPECT_GE(cost(sum(0)), rates.wait_us);
  EXPECT_LT(cost(sum(0)), 4 * rates.wait_us);
  EXPECT_LT(cost(sum(0, 1)), cost(sum(0)));  // one rank waits for nobody
}

TEST(Cost, BytesOverTheSlowestRate) {
  Rates rates;
  rates.from_peer = {1000, 1000};
  const double slow = cost(sum(1 << 20), rates);
  rates.from_peer = {2000, 2000};
  const double quick = cost(sum(1 << 20), rates);
  // Each of two ranks reads half of 4 MiB of the other.
  EXPECT_NEAR(slow - quick, (2 << 20) / 1000.0 - (2 << 20) / 2000.0, 0.01 * slow);
}

TEST(Cost, OneShotSavesWaitsOfSmallCallsAndCostsWorkOfLargeOnes) {
  const Planned small = sum(16), large = sum(1 << 22);
  ASSERT_TRUE(allows_one_shot(small.plan));
  EXPECT_LT(cost(small, {}, Protocol::one_shot), cost(small));
  EXPECT_GT(cost(large, {}, Protocol::one_shot), cost(large));
}

TEST(Cost, ProductsByTheirOperations) {
  const auto product = [](std::int64_t k) {
    return planned(
        "mesh world(tp)\ndim M, K, N\nprogram p(x: f32[M,K] sliced(1), w: f32[K,N] "
        "sliced(0)) {\n  y = matmul(x, w)\n  z = all_reduce(y, +)\n  return z\n}\n",
        "", {{"M", 256}, {"K", k}, {"N", 128}}, {2});
  };
  Rates rates;
  rates.products[DTypeKind::f32] = 1000;
  const double one = 2.0 * 256 * 128 * 256 / 1000;
  EXPECT_NEAR(cost(product(1024), rates) - cost(product(512), rates), one, 0.01 * one);
}

TEST(Cost, AFusedShardedStepIsCheaperThanTheUnscheduled) {
  const auto step = [](const char* steps) {
    return cost(planned(kNormStep, steps, {{"N", 1 << 20}}, {4}));
  };
  EXPECT_LT(step(kNormStepSharded), 0.7 * step(""));
}

TEST(Cost, WhatLivesInARingStaysInTheCaches) {
  const auto tail = [](const char* steps) {
    Rates rates;
    rates.products[DTypeKind::f32] = 1e9;
    return cost(planned(kAttention, steps, {{"B", 8}, {"S", 256}, {"H", 1024}}, {2}), rates);
  };
  const std::string fused =
      "rs, ag = split(total)\nbody, gather = reorder(ag, [drop, out])\nar = fuse(rs, body, "
      "gather)\n";
  EXPECT_LT(tail(kAttentionOverlapped), tail(fused.c_str()));
}

}  // namespace
}  // namespace coconet::plan
