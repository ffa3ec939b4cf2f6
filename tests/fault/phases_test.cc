// What a run does beside its calls is interrupted at random points: while it compiles, verifies and
// writes its results any of its processes is killed.
#include <signal.h>

#include <filesystem>
#include <map>

#include "tests/fault/fault.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const std::string& name : names_in(folder)) {
    out[name] = test::read_text(folder + "/" + name);
  }
  return out;
}

class FaultOfPhases : public Fault {
 protected:
  // One of all that run, the tool in every second case.
  pid_t victim(pid_t tool) {
    const std::vector<pid_t> all = processes();
    if (all.empty() || pick(0, 1) == 0) return tool;
    return all[pick(0, static_cast<int>(all.size()) - 1)];
  }

  // The tool says which of its processes was killed, if it could not do without it.
  static void expect_told(const ToolResult& result, bool tool_was_killed) {
    if (tool_was_killed && result.exit_code == 128 + SIGKILL) return;
    EXPECT_THAT(result.exit_code, AnyOf(0, 3)) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("this is a fault of coconet")));
    if (result.exit_code == 3) {
      EXPECT_THAT(result.err, HasSubstr("killed"));
    }
  }
};

TEST_F(FaultOfPhases, AKilledProcessOfACompilation) {
  for (int i = 0; i < cases(3, 0.3) && !HasFailure(); ++i) {
    const std::string words = draw() + " --verify";
    SCOPED_TRACE("case " + std::to_string(i) + ": " + words);
    RunningTool tool(words, cache());
    const pid_t process = tool.process();
    while (names_in(cache()).empty() && is_alive(process)) sleep(1000, 1000);
    sleep(0, 1000000);
    const pid_t killed = victim(process);
    const auto begin = Clock::now();
    kill(killed, SIGKILL);
    expect_told(wait_for_end(tool, begin), killed == process);
    std::filesystem::remove_all(cache());
  }
  expect_next_run_starts();
}

TEST_F(FaultOfPhases, AKilledParentTakesTheCompilerProcessAlong) {
  for (int i = 0; i < cases(2, 0.2) && !HasFailure(); ++i) {
    const std::string words = draw() + " --verify";
    SCOPED_TRACE("case " + std::to_string(i) + ": " + words);
    const int number = i % 2 == 0 ? SIGTERM : SIGINT;
    RunningTool tool(words, cache());
    const pid_t process = tool.process();
    while (names_in(cache()).empty() && is_alive(process)) sleep(1000, 1000);
    sleep(0, 300000);
    const auto begin = Clock::now();
    kill(process, number);
    EXPECT_EQ(wait_for_end(tool, begin).exit_code, 128 + number);
    std::filesystem::remove_all(cache());
  }
}

// From its first instruction to its last, with the verification's ranks, or large files to write:
// a file is there as a whole or not at all.
TEST_F(FaultOfPhases, AKilledProcessOfAVerificationOrOfWriting) {
  for (int i = 0; i < cases(6, 0.5) && !HasFailure(); ++i) {
    const std::string words = i % 2 == 0 ? draw(Size::large) : draw() + " --verify";
    SCOPED_TRACE("case " + std::to_string(i) + ": " + words);
    const std::string whole = folder() + "whole", part = folder() + "part";
    const ToolResult clean = run_tool(words + " --out " + whole);
    ASSERT_EQ(clean.exit_code, 0) << clean.err;
    RunningTool tool(words + " --out " + part);
    const pid_t process = tool.process();
    // Half of them at its end.
    const int last = static_cast<int>(std::min(clean.seconds * 1e6, 5e6));
    sleep(pick(0, 1) == 0 ? 0 : last / 2, last);
    const pid_t killed = victim(process);
    const auto begin = Clock::now();
    kill(killed, SIGKILL);
    expect_told(wait_for_end(tool, begin), killed == process);
    const auto wanted = files_in(whole);
    for (const auto& [name, bytes] : files_in(part)) {
      EXPECT_TRUE(wanted.contains(name) && wanted.at(name) == bytes) << name << " is not whole";
    }
    std::filesystem::remove_all(whole);
    std::filesystem::remove_all(part);
  }
  expect_next_run_starts();
}

}  // namespace
}  // namespace coconet::tests
