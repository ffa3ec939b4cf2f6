// What a plan refuses when its sizes are known.
#include <gtest/gtest.h>

#include "coconet/plan/bind.h"
#include "tests/refusal.h"
#include "tests/support/planned.h"

namespace coconet::plan {

using fixture::expect_refused;
namespace {

const Sizes kSizes = {{"B", 1}, {"S", 2}, {"H", 2}};

TEST(BindRefusal, OfMeshesAndDims) {
  const Plan plan = planned(kAttention, kAttentionOverlapped, kSizes, {2}).plan;
  expect_refused([&] { bind(plan, kSizes, {{2, 2}}); }, {"found 2 mesh sizes", "needs 1"});
  expect_refused([&] { bind(plan, kSizes, {{0}}); }, {"axis tp has size 0", "at least one rank"});
  expect_refused([&] { bind(plan, kSizes, {{257}}); }, {"257 ranks", "at most 256"});
  expect_refused([&] { bind(plan, {{"B", 1}, {"S", 2}}, {{2}}); }, {"dim H has no size"});
  expect_refused(
      [&] {
        bind(plan, {{"B", 1}, {"S", 2}, {"H", -1}}, {{2}});
      },
      {"dim H has size -1", "0 is the least"});
  expect_refused([&] { bind(plan, kSizes, {{2}}, {-1}); }, {"found -1 chunks", "1 or more"});
  bind(plan, kSizes, {{256}});
}

TEST(BindRefusal, OfARootOutsideItsAxis) {
  const char* const program = R"(
mesh world(tp)
dim N
program rooted(x: f32[N] local) {
  y = reduce(x, +, 2)
  return y
}
)";
  const Plan plan = planned(program, "", {{"N", 2}}, {3}).plan;
  expect_refused(
      [&] {
        bind(plan, {{"N", 2}}, {{2}});
      },
      {"root 2 is no rank of axis tp", "2 ranks", "numbered from 0"});
}

}  // namespace
}  // namespace coconet::plan
