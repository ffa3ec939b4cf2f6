// Ranks, their parent and the compiler are killed or stopped at random points of the examples on 2
// to 8 ranks: the tool names the rank and ends, nothing is left, and the next run starts.
//
// COCONET_FAULT_CASES=1000 tries so many points of each kind; COCONET_FAULT_SEED=7 others.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/support/files.h"
#include "tests/support/spawn.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using std::chrono::milliseconds;
using test::TemporaryFolder;
using testing::HasSubstr;

// From the fault to the end of everything. 5 s are meant; a full machine takes longer.
constexpr double kSeconds = 15;

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

constexpr const char* kMark = "COCONET_FAULT_MARK";

// The processes that run and have this value of kMark in their environment.
std::vector<pid_t> processes_with(const std::string& mark) {
  const std::string variable = std::string(kMark) + "=" + mark;
  std::vector<pid_t> out;
  for (const std::string& name : names_in("/proc")) {
    const pid_t process = std::atoi(name.c_str());
    if (process <= 0) continue;
    const std::string environment = test::read_text("/proc/" + name + "/environ");
    if (environment.find(variable) != std::string::npos) out.push_back(process);
  }
  return out;
}

bool has_socket(pid_t process) {
  const std::string name = "@coconet-" + std::to_string(process) + "-";
  return test::read_text("/proc/net/unix").find(name) != std::string::npos;
}

class Fault : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream("/proc/self/stat")) GTEST_SKIP() << "/proc is not mounted";
    std::filesystem::create_directories(folder_.path("tmp"));
    setenv("TMPDIR", folder_.path("tmp").c_str(), 1);
    setenv(kMark, folder_.path("").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    unsetenv(kMark);
    std::printf("from a fault to the end: at most %.2f s\n", longest_);
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  void sleep(int low, int high) {
    std::this_thread::sleep_for(std::chrono::microseconds(pick(low, high)));
  }

  // An example on `ranks` ranks that runs for minutes.
  std::string long_run(int ranks) {
    static const char* const kPrograms[] = {
        "sgd.coco --dim N=3001",
        "sgd.coco --schedule sharded --dim N=3001",
        "adam.coco --schedule sharded --scalar t=1 --dim N=50021",
        "lamb.coco --schedule fused --scalar t=1 --dim N=5003",
        "lamb.coco --schedule reordered --scalar t=1 --dim N=5003",
        "attention.coco --schedule overlapped --dim B=2,S=9,H=32",
        "attention_norm.coco --schedule fused --dim B=2,S=9,H=32",
        "mlp.coco --dim B=2,S=9,H=16",
        "mlp_norm.coco --schedule overlapped --dim B=2,S=9,H=16",
    };
    return std::string("run examples/") + kPrograms[pick(0, std::size(kPrograms) - 1)] +
           " --repeat 1000000 --ranks " + std::to_string(ranks);
  }

  // Waits until the ranks are there, mostly in the middle of joining.
  static std::vector<pid_t> first_ranks(const RunningTool& tool, int count) {
    for (std::vector<pid_t> before;;) {
      // Seen twice: what is about to become a compiler looks like a rank.
      const std::vector<pid_t> ranks = tool.ranks();
      if (static_cast<int>(ranks.size()) == count && ranks == before) return ranks;
      if (!is_alive(tool.process())) return ranks;
      before = ranks;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  // Everything of the tool has ended `kSeconds` after `since`, and left nothing.
  void expect_nothing_left(pid_t process, std::chrono::steady_clock::time_point since) {
    const auto age = [&] { return std::chrono::steady_clock::now() - since; };
    const auto limit = std::chrono::duration<double>(kSeconds);
    const std::string temporary = folder_.path("tmp"), cache = folder_.path("cache");
    const auto is_left = [&] {
      return !processes_with(folder_.path("")).empty() || !names_in(temporary).empty() ||
             !names_in(cache).empty();
    };
    while (age() < limit && is_left()) std::this_thread::sleep_for(milliseconds(5));
    EXPECT_THAT(processes_with(folder_.path("")), testing::IsEmpty());
    EXPECT_FALSE(has_socket(process));
    EXPECT_THAT(names_in(temporary), testing::IsEmpty());
    EXPECT_THAT(names_in(cache), testing::IsEmpty());
    EXPECT_LT(age(), limit);
    longest_ = std::max(longest_, std::chrono::duration<double>(age()).count());
  }

  static void expect_next_run_starts() {
    const ToolResult next = run_tool("run examples/sgd.coco --ranks 3 --dim N=3001");
    EXPECT_EQ(next.exit_code, 0) << next.err;
  }

  double longest_ = 0;
  const int cases_ = number_of("COCONET_FAULT_CASES", 10);
  std::mt19937 random_{static_cast<unsigned>(number_of("COCONET_FAULT_SEED", 1))};
  TemporaryFolder folder_;
};

TEST_F(Fault, AKilledProcessIsNamed) {
  for (int i = 0; i < cases_ && !HasFailure(); ++i) {
    const int ranks = pick(2, 8), victim = pick(0, ranks - 1);
    const std::string words = long_run(ranks);
    SCOPED_TRACE("case " + std::to_string(i) + ": rank " + std::to_string(victim) + " of " + words);
    RunningTool tool(words);
    const pid_t process = tool.process();
    const std::vector<pid_t> all = first_ranks(tool, ranks);
    ASSERT_EQ(static_cast<int>(all.size()), ranks) << tool.wait().err;
    sleep(0, i % 2 == 0 ? 10000 : 300000);  // mostly while they join; later
    const auto begin = std::chrono::steady_clock::now();
    kill(all[victim], SIGKILL);
    const ToolResult result = tool.wait();
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err,
                HasSubstr("rank " + std::to_string(victim) + " was killed by signal 9 (SIGKILL)"));
    expect_nothing_left(process, begin);
  }
  expect_next_run_starts();
}

TEST_F(Fault, AKilledParentTakesTheProcessesOfItsRanksAlong) {
  for (int i = 0; i < cases_ && !HasFailure(); ++i) {
    const int signals[] = {SIGKILL, SIGTERM, SIGINT};
    const int number = signals[i % 3];
    const std::string words = long_run(pick(2, 8));
    SCOPED_TRACE("case " + std::to_string(i) + ": " + words);
    RunningTool tool(words);
    const pid_t process = tool.process();
    sleep(0, 400000);  // from its first instruction on
    const auto begin = std::chrono::steady_clock::now();
    kill(process, number);
    EXPECT_EQ(tool.wait().exit_code, 128 + number);
    expect_nothing_left(process, begin);
  }
  expect_next_run_starts();
}

TEST_F(Fault, AKilledParentTakesTheCompilerProcessAlong) {
  for (int i = 0; i < std::max(1, cases_ / 3) && !HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const std::string cache = folder_.path("cache");
    const int signals[] = {SIGKILL, SIGTERM, SIGINT};
    const int number = signals[i % 3];
    RunningTool tool("run examples/lamb.coco --ranks 2 --scalar t=1 --dim N=7 --verify", cache);
    const pid_t process = tool.process();
    while (names_in(cache).empty()) sleep(1000, 1000);
    sleep(0, 300000);
    const auto begin = std::chrono::steady_clock::now();
    kill(process, number);
    EXPECT_EQ(tool.wait().exit_code, 128 + number);
    expect_nothing_left(process, begin);
  }
}

TEST_F(Fault, AStoppedProcessIsATimeoutThatNamesIt) {
  for (int i = 0; i < std::max(1, cases_ / 3) && !HasFailure(); ++i) {
    const int ranks = pick(2, 8), victim = pick(0, ranks - 1);
    const std::string words = long_run(ranks) + " --timeout 1";
    SCOPED_TRACE("case " + std::to_string(i) + ": rank " + std::to_string(victim) + " of " + words);
    RunningTool tool(words);
    const pid_t process = tool.process();
    const std::vector<pid_t> all = first_ranks(tool, ranks);
    ASSERT_EQ(static_cast<int>(all.size()), ranks) << tool.wait().err;
    sleep(0, i % 2 == 0 ? 10000 : 300000);
    const auto begin = std::chrono::steady_clock::now();
    kill(all[victim], SIGSTOP);
    const ToolResult result = tool.wait();
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, HasSubstr("rank " + std::to_string(victim)));
    expect_nothing_left(process, begin);
  }
  expect_next_run_starts();
}

TEST_F(Fault, AProcessThatIsLateIsWaitedFor) {
  for (int i = 0; i < std::max(1, cases_ / 3) && !HasFailure(); ++i) {
    const int ranks = pick(2, 8), victim = pick(0, ranks - 1);
    RunningTool tool(
        "run examples/sgd.coco --schedule sharded --dim N=3001 --repeat 5000 --ranks " +
        std::to_string(ranks));
    const std::vector<pid_t> all = first_ranks(tool, ranks);
    ASSERT_EQ(static_cast<int>(all.size()), ranks) << tool.wait().err;
    kill(all[victim], SIGSTOP);
    sleep(100000, 400000);
    kill(all[victim], SIGCONT);
    const ToolResult result = tool.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

}  // namespace
}  // namespace coconet::tests
