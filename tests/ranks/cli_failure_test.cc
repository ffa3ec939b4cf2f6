// `coconet run` when something dies, hangs, is interrupted or cannot be written: a clear error, the
// exit code, and nothing left.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Many calls, so that the ranks are at work when something happens.
const std::string kLong =
    "run examples/adam.coco --ranks 3 --schedule sharded --scalar t=1 --dim N=50021 "
    "--repeat 1000000";

// Within 20 s.
bool comes_true(const std::function<bool()>& holds) {
  for (int i = 0; i < 2000 && !holds(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return holds();
}

void expect_killed_rank_is_named(const std::string& options, int signal, const char* text) {
  RunningTool tool(kLong + options);
  const std::vector<pid_t> ranks = tool.wait_for_ranks(3);
  const auto start = std::chrono::steady_clock::now();
  kill(ranks[1], signal);
  const ToolResult result = tool.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("error: rank 1 was killed by"), HasSubstr(text)));
  if (options.find("--json") != std::string::npos) {
    EXPECT_THAT(json_keys(result.out), ElementsAre("error", "errors"));
    EXPECT_EQ(json_at(result.out, "error/kind"), "runtime");
    EXPECT_EQ(json_at(result.out, "error/exit_code"), "3");
    EXPECT_THAT(json_at(result.out, "error/message"), HasSubstr(text));
  } else {
    EXPECT_EQ(result.out, "");
  }
  EXPECT_TRUE(all_end(ranks));
}

TEST(CliFailureProcess, AKilledRankIsNamed) {
  expect_killed_rank_is_named("", SIGKILL, "SIGKILL");
  expect_killed_rank_is_named(" --json", SIGTERM, "SIGTERM");
}

TEST(CliFailureProcess, AStoppedRankIsATimeout) {
  RunningTool tool(kLong + " --timeout 1");
  const std::vector<pid_t> ranks = tool.wait_for_ranks(3);
  kill(ranks[1], SIGSTOP);
  const auto start = std::chrono::steady_clock::now();
  const ToolResult result = tool.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("for rank 1"), HasSubstr("the timeout is 1 s")));
  EXPECT_TRUE(all_end(ranks));
}

// Ctrl-C reaches the whole group.
TEST(CliFailureProcess, AnInterruptEndsAll) {
  RunningTool tool(kLong);
  const std::vector<pid_t> ranks = tool.wait_for_ranks(3);
  kill(-tool.process(), SIGINT);
  EXPECT_EQ(tool.wait().exit_code, 128 + SIGINT);
  EXPECT_TRUE(all_end(ranks));
}

TEST(CliFailureProcess, RanksEndWithTheirParent) {
  for (int signal : {SIGTERM, SIGKILL}) {
    RunningTool tool(kLong);
    const std::vector<pid_t> ranks = tool.wait_for_ranks(3);
    kill(tool.process(), signal);
    EXPECT_EQ(tool.wait().exit_code, 128 + signal);
    EXPECT_TRUE(all_end(ranks));
  }
}

// Ctrl-C while a part of the compiler is stopped: it is no reason for its folder to stay.
TEST(CliFailureProcess, AStoppedCompilerEndsWithTheTool) {
  const TemporaryFolder folder;
  const std::string part = folder.path("part"), compiler = folder.path("compiler");
  test::write_text(compiler,
                   "#!/bin/sh\ncase \"$*\" in *-dM*) exec c++ \"$@\";; esac\n"
                   "sleep 300 & echo $! > " +
                       part + "; wait\n");
  chmod(compiler.c_str(), S_IRWXU);
  for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
    unlink(part.c_str());
    RunningTool tool("run examples/sgd.coco --ranks 2 --dim N=5", folder.path("cache"),
                     [&] { setenv("CXX", compiler.c_str(), 1); });
    pid_t stopped = 0;
    ASSERT_TRUE(comes_true([&] { return bool(std::ifstream(part) >> stopped); })) << number;
    EXPECT_THAT(names_in(folder.path("cache")), Contains(StartsWith(".coconet-work-")));
    kill(stopped, SIGSTOP);
    kill(-tool.process(), number);
    EXPECT_EQ(tool.wait().exit_code, 128 + number);
    EXPECT_TRUE(comes_true([&] { return names_in(folder.path("cache")).empty(); })) << number;
    EXPECT_TRUE(all_end({stopped})) << number;
  }
}

// Some parents have their children ignore it.
TEST(CliFailureProcess, AnIgnoredSigchldHidesNoEnd) {
  signal(SIGCHLD, SIG_IGN);
  RunningTool tool(kLong);
  signal(SIGCHLD, SIG_DFL);
  const std::vector<pid_t> ranks = tool.wait_for_ranks(3);
  kill(ranks[2], SIGKILL);
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("error: rank 2 was killed by signal 9"));
}

// A shell's background job: a Ctrl-C is not for it.
TEST(CliFailureProcess, AnIgnoredInterruptIsIgnoredByRanks) {
  signal(SIGINT, SIG_IGN);
  RunningTool tool("run examples/sgd.coco --ranks 2 --dim N=3001 --repeat 5000");
  signal(SIGINT, SIG_DFL);
  tool.wait_for_ranks(2);
  kill(-tool.process(), SIGINT);
  EXPECT_EQ(tool.wait().exit_code, 0);
}

TEST(CliFailure, AFolderThatCannotBeMadeIsNamed) {
  const TemporaryFolder folder;
  test::write_text(folder.path("file"), "");
  const ToolResult result =
      run_tool("run examples/sgd.coco --ranks 2 --dim N=5 --out " + folder.path("file"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("--out " + folder.path("file")), Not(HasSubstr("fault"))));
}

TEST(CliFailure, AFullDiskIsNamed) {
  const ToolResult result = run_tool("run examples/sgd.coco --ranks 2 --dim N=5 --out /dev/full/x");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--out /dev/full/x"));
}

// As root a folder without write permission can be written; a path through a file cannot.
TEST(CliFailure, ACacheThatCannotBeWrittenCostsTimeOnly) {
  const TemporaryFolder folder;
  test::write_text(folder.path("program.coco"),
                   "mesh world(dp)\ndim N\nprogram one(x: f32[N]) { y = x + 1 return y }\n");
  test::write_text(folder.path("file"), "");
  const ToolResult result =
      run_tool("run " + folder.path("program.coco") + " --ranks 2 --dim N=5 --verify",
               folder.path("file") + "/cache");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning: the cache "), HasSubstr("Not a directory"),
                                HasSubstr("going on without it")));
}

TEST(CliFailure, TooMuchMemoryIsARuntimeError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends the process at such an allocation";
#endif
  const ToolResult result = run_tool("run examples/sgd.coco --ranks 2 --dim N=4000000000000000");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("error: "), HasSubstr("memory"), Not(HasSubstr("fault"))));
}

TEST(CliFailure, NothingIsLeftInSharedMemoryOrTheTemporaryFolder) {
  const TemporaryFolder folder;
  const std::string cache = folder.path("cache");
  const std::string program =
      "run examples/attention.coco --ranks 2 --dim B=1,S=2,H=4 --scalar rate=";
  const ToolResult result = run_tool(program + "0.5", cache);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const ToolResult failed = run_tool(program + "2", cache);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(names_in(cache), Each(EndsWith(".so")));
  EXPECT_THAT(names_in("/dev/shm"), Each(Not(HasSubstr("coconet"))));
}

}  // namespace
}  // namespace coconet::tests
