// The plan executor gives the interpreter's bits, and shows what is wrong with a plan.
#include "coconet/simulate/executor.h"

#include <gtest/gtest.h>

#include "coconet/plan/verify.h"
#include "tests/support/planned.h"

namespace coconet::simulate {
namespace {

// What the executor has against two calls of the plan under some scheduler; "" if nothing.
std::string complaint(const Planned& sample, int seeds) {
  const auto want = meanings(sample.graph, sample.setting, sample.inputs, 2);
  const auto given = calls_in_a_row(sample.setting, sample.inputs, 2);
  for (int seed = 0; seed < seeds; ++seed) {
    const ExecutorOptions options{policy_of(seed), static_cast<std::uint64_t>(seed), {3}};
    try {
      const auto got = execute_calls(sample.plan, given, options);
      for (int call = 0; call < 2; ++call) {
        if (!same_results(sample.graph, got[call], want[call])) return "other values";
      }
    } catch (const InternalError& error) {
      return error.what();
    }
  }
  return "";
}

class Executor : public testing::TestWithParam<int> {};

TEST_P(Executor, GivesTheInterpretersBits) {
  const int ranks = GetParam();
  for (const std::string steps : {"", kAttentionOverlapped}) {
    const Planned sample = planned(kAttention, steps, {{"B", 2}, {"S", 5}, {"H", 6}}, {ranks});
    EXPECT_EQ(complaint(sample, 8), "") << steps;
  }
  for (const std::string steps : {"", kNormStepSharded}) {
    for (std::int64_t n : {0, 1, 1030, 2500}) {
      const Planned sample = planned(kNormStep, steps, {{"N", n}}, {ranks});
      EXPECT_EQ(complaint(sample, 4), "") << steps << " N=" << n;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, Executor, testing::Values(1, 2, 3, 5, 8));

TEST(Executor, AnyNumberOfChunksGivesTheSameBits) {
  const Planned sample =
      planned(kAttention, kAttentionOverlapped, {{"B", 3}, {"S", 7}, {"H", 4}}, {3});
  ASSERT_EQ(sample.plan.overlaps.size(), 1u);
  const interp::Result want = sample.meaning();
  for (std::int64_t chunks : {0, 1, 2, 5, 7, 20}) {
    const interp::Result got =
        execute(sample.plan, sample.setting, sample.inputs, {Policy::random, 3, {chunks}});
    EXPECT_TRUE(same_results(sample.graph, got, want)) << chunks;
  }
}

TEST(Executor, TheSameSeedRunsTheSameWay) {
  Planned sample = planned(kAttention, "", {{"B", 2}, {"S", 3}, {"H", 4}}, {4});
  sample.plan.launches[1].waits.clear();
  const std::string first = complaint(sample, 8);
  EXPECT_NE(first, "");
  EXPECT_EQ(complaint(sample, 8), first);
}

// Every wait of the plan that the happens-before check needs, the executor needs too, and the other
// way round.
void each_wait_is_needed(const Planned& sample) {
  int needed = 0;
  for (std::size_t l = 0; l <= sample.plan.launches.size(); ++l) {
    const bool exit = l == sample.plan.launches.size();
    const auto& waits = exit ? sample.plan.exit_waits : sample.plan.launches[l].waits;
    for (std::size_t w = 0; w < waits.size(); ++w) {
      Planned broken = sample;
      auto& left = exit ? broken.plan.exit_waits : broken.plan.launches[l].waits;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(w));
      bool ordered = true;
      try {
        verify_order(plan::bind(broken.plan, broken.setting.sizes, broken.setting.mesh, {3}));
      } catch (const InternalError&) {
        ordered = false;
        ++needed;
      }
      EXPECT_EQ(complaint(broken, 60) == "", ordered) << "launch " << l << ", wait " << w;
    }
  }
  EXPECT_GT(needed, 0);
}

TEST(Executor, FeelsEveryMissingWaitOfAttention) {
  each_wait_is_needed(planned(kAttention, "", {{"B", 2}, {"S", 4}, {"H", 4}}, {3}));
}
TEST(Executor, FeelsEveryMissingWaitOfOverlappedAttention) {
  each_wait_is_needed(
      planned(kAttention, kAttentionOverlapped, {{"B", 2}, {"S", 9}, {"H", 4}}, {3}));
}
TEST(Executor, FeelsEveryMissingWaitOfAShardedStep) {
  each_wait_is_needed(planned(kNormStep, kNormStepSharded, {{"N", 3000}}, {3}));
}

TEST(Executor, SeesMemoryThatIsUsedTwiceAtOnce) {
  Planned sample = planned(kNormStep, "", {{"N", 40}}, {2});
  int total = -1, value = -1;
  for (int b = 0; b < static_cast<int>(sample.plan.buffers.size()); ++b) {
    if (sample.plan.buffers[b].name == "total") total = b;
    if (sample.plan.buffers[b].name == "p") value = b;
  }
  ASSERT_GE(total, 0);
  sample.plan.buffers[total].slot = sample.plan.buffers[value].slot;
  EXPECT_NE(complaint(sample, 1).find("which holds buffer"), std::string::npos);
  EXPECT_THROW(plan::verify(sample.plan), InternalError);
}

TEST(Executor, NamesWhoWaitsForWhatWhenNobodyCanAct) {
  Planned sample = planned(kAttention, "", {{"B", 1}, {"S", 1}, {"H", 2}}, {2});
  sample.plan.launches[0].waits.push_back({plan::LaunchId{1}, {0}, false});
  const std::string said = complaint(sample, 1);
  EXPECT_NE(
      said.find("no rank can act: rank 0 in launch 0 (layer), chunk 0, waits for rank 1 to do "
                "launch 1 (total)"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("rank 1 in launch 0 (layer)"), std::string::npos) << said;
}

TEST(Executor, ARankThatReturnsTakesItsMemoryWithIt) {
  Planned sample = planned(kSum, "", {{"N", 30}}, {4});
  EXPECT_EQ(complaint(sample, 40), "");
  sample.plan.exit_waits.clear();
  EXPECT_NE(complaint(sample, 40), "");
}

// Calls in a row, each rank as far ahead as waits let it.
TEST(Executor, GivesTheInterpretersBitsCallAfterCall) {
  for (const int ranks : {1, 2, 3}) {
    for (const std::string steps : {"", kNormStepSharded}) {
      const Planned sample = planned(kNormStep, steps, {{"N", 1500}}, {ranks});
      const auto want = meanings(sample.graph, sample.setting, sample.inputs, 3);
      EXPECT_FALSE(same_results(sample.graph, want[1], want[0]));
      const auto given = calls_in_a_row(sample.setting, sample.inputs, 3);
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const auto got = execute_calls(sample.plan, given, {policy_of(seed), seed, {}});
        for (int call = 0; call < 3; ++call) {
          EXPECT_TRUE(same_results(sample.graph, got[call], want[call])) << "call " << call;
        }
      }
    }
  }
}

// Dropout has another mask in each call; sizes and numbers of chunks change between them.
TEST(Executor, CallsOfOtherSizesFollowEachOther) {
  const Planned large =
      planned(kAttention, kAttentionOverlapped, {{"B", 2}, {"S", 9}, {"H", 4}}, {3});
  Planned small = planned(kAttention, kAttentionOverlapped, {{"B", 1}, {"S", 2}, {"H", 7}}, {3});
  small.setting.call_number = 1;
  plan::BoundPlan one = plan::bind(large.plan, large.setting.sizes, large.setting.mesh, {5});
  plan::BoundPlan other = plan::bind(large.plan, small.setting.sizes, small.setting.mesh, {1});
  const auto calls = plan::in_a_row({one, other, one});
  plan::verify_order(calls);
  const std::vector<CallGiven> given = {
      {large.setting, large.inputs}, {small.setting, small.inputs}, {large.setting, large.inputs}};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto got = execute_calls(calls, given, {policy_of(seed), seed, {}});
    EXPECT_TRUE(same_results(large.graph, got[0], large.meaning()));
    EXPECT_TRUE(same_results(large.graph, got[1], small.meaning()));
    EXPECT_TRUE(same_results(large.graph, got[2], large.meaning()));
  }
}

// Ranks that need nothing of each other do not wait: one is calls ahead.
TEST(Executor, ARankThatNeedsNobodyRunsAhead) {
  const Planned sample = planned(R"(
mesh world(dp)
dim N
program alone(x: f32[N] local, state s: f32[N] local) {
  s2 = update(s, s + x)
  return s2
}
)",
                                 "", {{"N", 5}}, {2});
  for (const plan::Launch& launch : sample.plan.launches) EXPECT_TRUE(launch.waits.empty());
  const auto want = meanings(sample.graph, sample.setting, sample.inputs, 4);
  const auto got = execute_calls(sample.plan, calls_in_a_row(sample.setting, sample.inputs, 4),
                                 {Policy::ahead, 1, {}});
  for (int call = 0; call < 4; ++call) {
    EXPECT_TRUE(same_results(sample.graph, got[call], want[call])) << call;
  }
}

TEST(Executor, RefusesToKeepWhatHasOtherSizes) {
  const Planned sample = planned(kSum, "", {{"N", 30}}, {2});
  std::vector<CallGiven> given = calls_in_a_row(sample.setting, sample.inputs, 2);
  given[1].setting.sizes["N"] = 31;
  try {
    execute_calls(sample.plan, given);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("input x has no value in call 1, whose sizes are not those of "
                                   "the call before"),
              std::string::npos)
        << error.message();
  }
}

TEST(Executor, RefusesInputsThatAreMissing) {
  Planned sample = planned(kAttention, "", {{"B", 2}, {"S", 3}, {"H", 4}}, {2});
  sample.inputs.erase("w");
  try {
    execute(sample.plan, sample.setting, sample.inputs);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("input w has no value"), std::string::npos);
  }
}

}  // namespace
}  // namespace coconet::simulate
