// Memory, disk and descriptors run out, from the start or at a random point: the tool does its work
// or says what it lacks, and exits; it never ends by a signal, nor hangs, nor leaves anything.
//
// Limits of processes need no privileges: RLIMIT_AS for memory, RLIMIT_FSIZE for a disk. Lowered
// while a run is at work, they stand for what others take meanwhile.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fault/fault.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

using Resource = decltype(RLIMIT_AS);

constexpr double kMiB = 1 << 20;
constexpr double kWholeRun = 60;  // seconds, with its compiler

void limit(Resource resource, std::size_t value) {
  rlimit both{value, RLIM_INFINITY};
  getrlimit(resource, &both);
  both.rlim_cur = value;
  setrlimit(resource, &both);
}

// Of a process that runs: to what it has now and a little more.
void limit_now(pid_t process, Resource resource, std::size_t more) {
  std::size_t pages = 0;
  if (resource == RLIMIT_AS) {
    std::ifstream("/proc/" + std::to_string(process) + "/statm") >> pages;
  }
  rlimit both{};
  if (prlimit(process, resource, nullptr, &both) != 0) return;
  both.rlim_cur = pages * 4096 + more;
  prlimit(process, resource, &both, nullptr);
}

class FaultOfLimits : public Fault {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs much memory, and ends the process where it lacks";
#endif
    Fault::SetUp();
  }

  std::string out() const { return folder() + "out"; }

  // `words` with the folder for results; what they are without a limit.
  void begin_case(int number, const std::string& words) {
    words_ = words + " --out " + out();
    trace_ = "case " + std::to_string(number) + ": " + words;
  }

  void expect_told(const ToolResult& result) const {
    if (result.exit_code == 0) return;
    EXPECT_THAT(result.exit_code, AnyOf(1, 3)) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AnyOf(HasSubstr("error: "), HasSubstr(": error: ")));
    EXPECT_THAT(result.err, Not(HasSubstr("this is a fault of coconet")));
    if (const auto said = said_by_ranks(result.err); !said.empty()) {
      EXPECT_EQ(static_cast<int>(said.size()), ranks()) << result.err;
    }
    if (onednn_may_crash_) {
      EXPECT_THAT(result.err, AnyOf(Not(HasSubstr("was killed by signal")),
                                    HasSubstr("ulimit -v leaves it too little memory")));
    } else {
      EXPECT_THAT(result.err, Not(HasSubstr("was killed by signal")));
    }
    if (result.exit_code == 1) {
      EXPECT_THAT(result.err, HasSubstr("writing at byte"));
    }
  }

  void finish_case(RunningTool& tool, Clock::time_point begin) {
    SCOPED_TRACE(trace_);
    expect_told(wait_for_end(tool, begin, kWholeRun));
    for (const std::string& name : names_in(out())) {
      EXPECT_THAT(name, AnyOf(testing::EndsWith(".npy"), testing::EndsWith(".safetensors")));
    }
    std::filesystem::remove_all(out());
    std::filesystem::remove_all(cache());
  }

  std::string words_, trace_;
  bool onednn_may_crash_ = false;
};

TEST_F(FaultOfLimits, ProcessesWithTooLittleMemory) {
  for (int i = 0; i < cases(6, 0.4) && !HasFailure(); ++i) {
    const std::size_t bytes = pick_bytes(40 * kMiB, 1000 * kMiB);
    begin_case(i, draw(i % 3 == 0 ? Size::large : Size::small) + (i % 2 == 0 ? " --verify" : ""));
    trace_ += " in " + std::to_string(bytes) + " bytes of memory";
    const auto begin = Clock::now();
    RunningTool tool(words_, test_cache(), [&] { limit(RLIMIT_AS, bytes); });
    finish_case(tool, begin);
  }
  expect_next_run_starts();
}

TEST_F(FaultOfLimits, ProcessesThatMemoryRunsOutOf) {
  for (int i = 0; i < cases(6, 0.4) && !HasFailure(); ++i) {
    begin_case(i, draw(i % 3 == 0 ? Size::large : Size::small) + (i % 2 == 0 ? " --verify" : ""));
    RunningTool tool(words_);
    // Not while the system loads it, which ends it by a signal.
    while (processes().size() < 2 && is_alive(tool.process())) sleep(500, 500);
    sleep(0, 300000);
    // In the middle of its work: we look for memory before.
    const std::string example = words_.substr(4, words_.find(' ', 4) - 4);
    onednn_may_crash_ = test::read_text(example).find("matmul(") != std::string::npos;
    const std::size_t more = pick_bytes(1, 64 * kMiB);
    trace_ += ", then " + std::to_string(more) + " bytes more";
    const auto begin = Clock::now();
    for (const pid_t process : processes()) limit_now(process, RLIMIT_AS, more);
    finish_case(tool, begin);
  }
  expect_next_run_starts();
}

// The room that is looked for before compiling is 4 MiB.
TEST_F(FaultOfLimits, ProcessesWithAFullDisk) {
  for (int i = 0; i < cases(4, 0.2) && !HasFailure(); ++i) {
    const std::size_t bytes = pick_bytes(64 << 10, 16 * kMiB);
    begin_case(i, draw(Size::large));
    trace_ += " in files of " + std::to_string(bytes) + " bytes";
    const auto begin = Clock::now();
    RunningTool tool(words_, i % 2 == 0 ? cache() : test_cache(),
                     [&] { limit(RLIMIT_FSIZE, bytes); });
    finish_case(tool, begin);
  }
  expect_next_run_starts();
}

TEST_F(FaultOfLimits, ProcessesThatTheDiskRunsOutOf) {
  for (int i = 0; i < cases(3, 0.3) && !HasFailure(); ++i) {
    begin_case(i, draw(i % 2 == 0 ? Size::small : Size::large));
    RunningTool tool(words_, i % 4 < 3 ? cache() : test_cache());
    sleep(0, 1500000);
    const std::size_t bytes = pick_bytes(16 << 10, 4 * kMiB);
    trace_ += ", then files of " + std::to_string(bytes) + " bytes";
    const auto begin = Clock::now();
    for (const pid_t process : processes()) limit_now(process, RLIMIT_FSIZE, bytes);
    finish_case(tool, begin);
  }
  expect_next_run_starts();
}

// Only the compiler meets a limit: its files, or its memory.
TEST_F(FaultOfLimits, ACompilerProcessWithTooLittleRoom) {
  const std::string script = folder() + "compiler";
  const char* given = std::getenv("CXX");
  const std::string compiler = given != nullptr ? given : "c++", before = compiler;
  for (int i = 0; i < cases(4, 0.2) && !HasFailure(); ++i) {
    const bool disk = i % 2 == 0;
    const std::size_t units =
        disk ? pick_bytes(1, 2000) : pick_bytes(10 << 10, 400 << 10);  // 512 bytes, KiB
    begin_case(i, draw());
    trace_ += (disk ? " -f " : " -v ") + std::to_string(units);
    // What it asks of the compiler first has no limit.
    test::write_text(script, "#!/bin/sh\ncase \"$*\" in *-dM*) ;; *) " +
                                 std::string(i % 4 == 0 ? "trap '' XFSZ; " : "") + "ulimit " +
                                 (disk ? "-f " : "-v ") + std::to_string(units) + ";; esac\nexec " +
                                 compiler + " \"$@\"\n");
    chmod(script.c_str(), 0755);
    const auto begin = Clock::now();
    RunningTool tool(words_, cache(), [&] { setenv("CXX", script.c_str(), 1); });
    finish_case(tool, begin);
  }
}

TEST_F(FaultOfLimits, ProcessesWithTooFewDescriptors) {
  for (int i = 0; i < cases(4, 0.2) && !HasFailure(); ++i) {
    const int most = pick(6, 60);
    begin_case(i, draw() + (i % 2 == 0 ? " --verify" : ""));
    trace_ += " with " + std::to_string(most) + " descriptors";
    const auto begin = Clock::now();
    RunningTool tool(words_, i % 4 == 0 ? cache() : test_cache(),
                     [&] { limit(RLIMIT_NOFILE, static_cast<std::size_t>(most)); });
    finish_case(tool, begin);
  }
  expect_next_run_starts();
}

}  // namespace
}  // namespace coconet::tests
