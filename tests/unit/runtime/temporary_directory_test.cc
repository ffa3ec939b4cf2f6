#include "coconet/runtime/temporary_directory.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "tests/support/files.h"
#include "tests/support/spawn.h"

namespace coconet::runtime {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

bool comes_true_soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(TemporaryDirectory, IsGoneWithAllInIt) {
  const TemporaryFolder folder;
  {
    const TemporaryDirectory directory(folder.path(""));
    test::write_text((directory.path() / "file").string(), "x");
    const ProcessResult result = directory.run({"sh", "-c", "echo $TMPDIR; echo $LC_ALL"});
    EXPECT_EQ(result.output, directory.path().string() + "\nC\n");
  }
  EXPECT_THAT(folder.names(), testing::IsEmpty());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(TemporaryDirectory, ProcessWithoutDescriptorsLeavesNothing) {
  const TemporaryFolder folder;
  const pid_t owner = fork();
  if (owner == 0) {
    auto directory = std::make_unique<TemporaryDirectory>(folder.path(""));
    test::write_text((directory->path() / "file").string(), "x");
    rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    directory.reset();
    _exit(0);
  }
  waitpid(owner, nullptr, 0);
  EXPECT_THAT(folder.names(), testing::IsEmpty());
}

TEST(TemporaryDirectory, IsKeptIfWanted) {
  const TemporaryFolder folder;
  TemporaryDirectory(folder.path("")).keep();
  EXPECT_EQ(folder.names().size(), 1u);
}

// A process is killed while `command` runs in its directory, which writes its number and that of
// what it has started to two files beside it; `before` is done to the second.
void expect_killed_process_leaves_nothing(const std::string& command, int number,
                                          const std::function<void(pid_t)>& before) {
  SCOPED_TRACE(number);
  const TemporaryFolder folder;
  const pid_t owner = fork();
  if (owner == 0) {
    const TemporaryDirectory directory(folder.path(""));
    directory.run({"sh", "-c", command});
    _exit(1);
  }
  pid_t driver = 0, part = 0;
  ASSERT_TRUE(comes_true_soon([&] {
    return std::ifstream(folder.path("driver")) >> driver &&
           std::ifstream(folder.path("part")) >> part;
  }));
  EXPECT_TRUE(tests::is_alive(part));
  EXPECT_EQ(folder.names().size(), 3u);
  before(part);
  kill(owner, number);
  int status = 0;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  EXPECT_EQ(WTERMSIG(status), number);
  EXPECT_TRUE(comes_true_soon([&] { return !tests::is_alive(driver); }));
  EXPECT_TRUE(comes_true_soon([&] { return !tests::is_alive(part); }));
  EXPECT_TRUE(comes_true_soon([&] { return folder.names().size() == 2; }));
  for (const pid_t process : {driver, part}) kill(process, SIGKILL);  // where an expectation failed
}

constexpr int kEnds[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP};
const std::string kStartsAnother =
    "sleep 300 & echo $! > \"$TMPDIR/../part\"; echo $$ > \"$TMPDIR/../driver\"; wait";

TEST(TemporaryDirectory, ProcessKilledLeavesNothing) {
  for (const int number : kEnds) {
    expect_killed_process_leaves_nothing(kStartsAnother, number, [](pid_t) {});
  }
}

// As a compiler's part that a user has stopped.
TEST(TemporaryDirectory, ProcessKilledLeavesNoStoppedProgram) {
  for (const int number : kEnds) {
    expect_killed_process_leaves_nothing(kStartsAnother, number,
                                         [](pid_t part) { kill(part, SIGSTOP); });
  }
}

// It makes files in its directory to the end.
TEST(TemporaryDirectory, ProcessKilledLeavesNoProgramThatIgnoresSignals) {
  const std::string busy =
      "trap '' HUP INT QUIT TERM; echo $$ > \"$TMPDIR/../part\"; echo $$ > \"$TMPDIR/../driver\"; "
      "i=0; while :; do i=$((i+1)); : > \"$TMPDIR/$i\"; done";
  for (const int number : kEnds) {
    expect_killed_process_leaves_nothing(busy, number, [](pid_t) {});
  }
}

// So that none makes a file in it while it is removed.
TEST(TemporaryDirectory, NothingRunsOnWhenItGoes) {
  const TemporaryFolder folder;
  pid_t part = 0;
  {
    const TemporaryDirectory directory(folder.path(""));
    directory.run({"sh", "-c", "sleep 300 >&- 2>&- & echo $! > \"$TMPDIR/../part\""});
    ASSERT_TRUE(std::ifstream(folder.path("part")) >> part);
    EXPECT_TRUE(tests::is_alive(part));
    kill(part, SIGSTOP);
  }
  EXPECT_TRUE(comes_true_soon([&] { return !tests::is_alive(part); }));
  EXPECT_THAT(folder.names(), testing::ElementsAre("part"));
}

TEST(TemporaryDirectory, OnlyAbandonedOnesAreRemoved) {
  const TemporaryFolder folder;
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(25);
  const std::string old = ".coconet-work-0123456789abcdef", file = ".coconet-work-1123456789abcdef",
                    fresh = ".coconet-work-2123456789abcdef", longer = old + "0",
                    mine = "coconet-mine";
  for (const std::string& name : {old, longer, mine}) {
    fs::create_directories(folder.path(name) + "/inside");
    fs::last_write_time(folder.path(name), long_ago);
  }
  test::write_text(folder.path(file), "a file");
  fs::last_write_time(folder.path(file), long_ago);
  fs::create_directories(folder.path(fresh));
  remove_abandoned(folder.path(""));
  EXPECT_THAT(folder.names(), testing::UnorderedElementsAre(longer, file, fresh, mine));
}

}  // namespace
}  // namespace coconet::runtime
