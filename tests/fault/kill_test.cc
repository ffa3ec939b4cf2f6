// Ranks and their parent are killed or stopped at random points of every example under every
// schedule: the tool names the rank, each survivor what it did, and ends; nothing is left, and the
// next run starts.
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "tests/fault/fault.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using std::chrono::milliseconds;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kForMinutes = " --repeat 1000000";

std::string case_text(int number, int victim, const std::string& words) {
  return "case " + std::to_string(number) + ": rank " + std::to_string(victim) + " of " + words;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST_F(Fault, EveryExampleIsDrawnOnProcesses) {
  std::vector<std::string> names;
  for (const std::string& name : names_in("examples")) {
    if (name.ends_with(".coco")) names.push_back(name.substr(0, name.size() - 5));
  }
  EXPECT_THAT(sized_examples(), testing::UnorderedElementsAreArray(names))
      << "give a new example sizes in tests/fault/examples.cc";
}

// While they join; while they exchange large inputs; later.
TEST_F(Fault, AKilledProcessIsNamed) {
  for (int i = 0; i < cases(9) && !HasFailure(); ++i) {
    const std::string words = draw(i % 3 == 1 ? Size::large : Size::small) + kForMinutes;
    const int victim = pick(0, ranks() - 1);
    SCOPED_TRACE(case_text(i, victim, words));
    RunningTool tool(words);
    const std::vector<pid_t> all = first_ranks(tool, ranks());
    ASSERT_EQ(static_cast<int>(all.size()), ranks()) << tool.wait().err;
    const int latest[] = {8000, 50000, 300000};
    sleep(0, latest[i % 3]);
    const auto begin = Clock::now();
    kill(all[victim], SIGKILL);
    const ToolResult result = wait_for_end(tool, begin);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("error: rank " + std::to_string(victim) +
                                       " was killed by signal 9 (SIGKILL) "));
    expect_survivors_tell(result.err, victim);
  }
  expect_next_run_starts();
}

TEST_F(Fault, AKilledParentTakesTheProcessesOfItsRanksAlong) {
  for (int i = 0; i < cases(9) && !HasFailure(); ++i) {
    const int signals[] = {SIGKILL, SIGTERM, SIGINT};
    const int number = signals[i % 3];
    const std::string words = draw() + kForMinutes;
    SCOPED_TRACE("case " + std::to_string(i) + ": " + words);
    RunningTool tool(words);
    const pid_t process = tool.process();
    sleep(0, 400000);  // from its first instruction on
    const auto begin = Clock::now();
    kill(process, number);
    EXPECT_EQ(wait_for_end(tool, begin).exit_code, 128 + number);
  }
  expect_next_run_starts();
}

TEST_F(Fault, AStoppedProcessIsATimeoutThatNamesIt) {
  for (int i = 0; i < cases(3, 0.4) && !HasFailure(); ++i) {
    const std::string words = draw() + kForMinutes + " --timeout 1";
    const int victim = pick(0, ranks() - 1);
    SCOPED_TRACE(case_text(i, victim, words));
    RunningTool tool(words);
    const std::vector<pid_t> all = first_ranks(tool, ranks());
    ASSERT_EQ(static_cast<int>(all.size()), ranks()) << tool.wait().err;
    sleep(0, i % 2 == 0 ? 10000 : 300000);
    const auto begin = Clock::now();
    kill(all[victim], SIGSTOP);
    const ToolResult result = wait_for_end(tool, begin);
    EXPECT_EQ(result.exit_code, 3);
    const std::string rank = "rank " + std::to_string(victim);
    EXPECT_THAT(first_line(result.err), AnyOf(HasSubstr(rank + " "), HasSubstr(rank + ",")));
    expect_survivors_tell(result.err);
  }
  expect_next_run_starts();
}

// Stopped from somewhere before it joins to somewhere in its first calls.
TEST_F(Fault, AProcessThatIsLateIsWaitedFor) {
  for (int i = 0; i < cases(6) && !HasFailure(); ++i) {
    const std::string words = draw() + " --repeat 20";
    const int victim = pick(0, ranks() - 1);
    SCOPED_TRACE(case_text(i, victim, words));
    RunningTool tool(words);
    const std::vector<pid_t> all = first_ranks(tool, victim + 1);
    const bool there = static_cast<int>(all.size()) > victim;  // else it has ended, on time
    if (there) {
      sleep(0, 4000);
      kill(all[victim], SIGSTOP);
      sleep(100000, 400000);
      kill(all[victim], SIGCONT);
    }
    constexpr double kWholeRun = 60;  // where it was the compiler that was late
    const ToolResult result = wait_for_end(tool, Clock::now(), kWholeRun);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }
}

}  // namespace
}  // namespace coconet::tests
