// Several plans in turns on one set of ranks and in one memory: execute::run_in_turns.
#include "coconet/execute/turns.h"

#include <gtest/gtest.h>

#include "tests/refusal.h"
#include "tests/support/planned.h"

namespace coconet::execute {
namespace {

using fixture::expect_refused;

Planned step(const char* steps, std::int64_t n = 5000) {
  return planned(kNormStep, steps, {{"N", n}}, {3});
}

RunRequest request_of(const Planned& planned, runtime::RankKind kind) {
  RunRequest out;
  out.setting = planned.setting;
  out.kind = kind;
  out.timeout = std::chrono::seconds(100);
  return out;
}

class Turns : public testing::TestWithParam<runtime::RankKind> {
 protected:
  const runtime::Toolchain toolchain_;
};

TEST_P(Turns, EachCallOfEachTurnHasATime) {
  const Planned plain = step(""), sharded = step(kNormStepSharded);
  const Compiled one(plain.graph, {}, toolchain_), other(sharded.graph, {}, toolchain_);
  const RunRequest first = request_of(plain, GetParam()), second = request_of(sharded, GetParam());
  const std::vector<Contender> contenders = {{&one, &first, &plain.inputs},
                                             {&other, &second, &sharded.inputs}};
  const std::vector<Turn> turns = {{0, 3}, {1, 20}, {0, 1}, {1, 2}, {0, 15}};
  const std::vector<std::vector<double>> times = run_in_turns(contenders, turns);
  ASSERT_EQ(times.size(), turns.size());
  for (std::size_t t = 0; t < turns.size(); ++t) {
    ASSERT_EQ(times[t].size(), static_cast<std::size_t>(turns[t].calls));
    for (const double time : times[t]) {
      EXPECT_GT(time, 0);
      EXPECT_LT(time, 1e7);
    }
  }
}

TEST_P(Turns, ContendersMayDifferInTheirKnobsAlone) {
  const Planned tail =
      planned(kAttention, kAttentionOverlapped, {{"B", 4}, {"S", 8}, {"H", 16}}, {3});
  const Compiled compiled(tail.graph, {}, toolchain_);
  RunRequest one = request_of(tail, GetParam()), many = one;
  one.knobs.chunks = {1};
  many.knobs.chunks = {8};
  const std::vector<Contender> contenders = {{&compiled, &one, &tail.inputs},
                                             {&compiled, &many, &tail.inputs}};
  const std::vector<Turn> turns = {{0, 4}, {1, 4}, {0, 4}};
  EXPECT_EQ(run_in_turns(contenders, turns).size(), 3u);
}

TEST_P(Turns, AMissingInputIsRefused) {
  const Planned plain = step("");
  const Compiled compiled(plain.graph, {}, toolchain_);
  const RunRequest request = request_of(plain, GetParam());
  Inputs some = plain.inputs;
  some.erase("g");
  const std::vector<Contender> contenders = {{&compiled, &request, &some}};
  const std::vector<Turn> turns = {{0, 1}};
  expect_refused([&] { run_in_turns(contenders, turns); }, {"g"});
}

INSTANTIATE_TEST_SUITE_P(Process, Turns, testing::Values(runtime::RankKind::process));
INSTANTIATE_TEST_SUITE_P(Thread, Turns, testing::Values(runtime::RankKind::thread));

}  // namespace
}  // namespace coconet::execute
