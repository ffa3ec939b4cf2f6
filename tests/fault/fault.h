// What every fault test has: its seed, the examples in random order, its own cache and temporary
// folder, and what must hold after a fault.
//
// COCONET_FAULT_CASES=1000 tries so many points of each kind; COCONET_FAULT_SEED=7 others.
#pragma once

#include <gmock/gmock.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/fault/examples.h"
#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {

class Fault : public testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;
  // From a fault to the end of everything. 5 s are meant; a full machine takes longer.
  static constexpr double kSeconds = 15;

  void SetUp() override;
  void TearDown() override;

  // How often a test does its case: COCONET_FAULT_CASES, or so often where that is not set; fewer
  // where a case takes long.
  static int cases(int bounded, double share = 1);

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  // Each order of magnitude as often as another.
  std::size_t pick_bytes(double low, double high);
  void sleep(int low, int high);  // microseconds

  // The next example and schedule, all of them before one comes again, on 2 to 8 ranks, ranks().
  std::string draw(Size size = Size::small);
  int ranks() const { return ranks_; }

  std::string folder() const { return folder_.path(""); }
  std::string cache() const { return folder_.path("cache"); }
  std::string temporary() const { return folder_.path("tmp"); }
  // The processes that the running test has started, and theirs.
  std::vector<pid_t> processes() const;

  // Waits until so many ranks are there, mostly in the middle of joining; fewer if it ends before.
  static std::vector<pid_t> first_ranks(const RunningTool& tool, int count);

  // The tool ends within `seconds` of the fault; nothing of it runs on, and it leaves nothing but
  // libraries in the cache.
  ToolResult wait_for_end(RunningTool& tool, Clock::time_point fault, double seconds = kSeconds);
  static void expect_next_run_starts();
  // What each rank says in an error that begins with one rank's; none says anything in others.
  static std::map<int, std::string> said_by_ranks(const std::string& err);
  // Each rank but the victim says what it was doing when it stopped, and which rank was the reason:
  // the victim, if one is given.
  void expect_survivors_tell(const std::string& err, std::optional<int> victim = {}) const;

 private:
  double longest_ = 0;
  std::map<std::string, int> told_;  // how often the tool ended with what words
  int ranks_ = 0;
  std::vector<Scheduled> deck_;
  std::mt19937 random_;
  test::TemporaryFolder folder_;
};

}  // namespace coconet::tests
