#include "coconet/runtime/subprocess.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "coconet/base/error.h"

namespace coconet::runtime {
namespace {

TEST(Subprocess, GivesOutputAndExitCode) {
  const ProcessResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_FALSE(result.succeeded());
}

TEST(Subprocess, TakesLongOutput) {
  const ProcessResult result = run_process({"sh", "-c", "head -c 300000 /dev/zero"});
  EXPECT_EQ(result.output.size(), 300000u);
  EXPECT_TRUE(result.succeeded());
}

TEST(Subprocess, TellsTheSignal) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -TERM $$"}).signal, SIGTERM);
}

TEST(Subprocess, AProgramThatIsNotThere) {
  EXPECT_THROW(run_process({"no-such-program-here"}), UserError);
}

TEST(Subprocess, ATimeoutKills) {
  EXPECT_THROW(run_process({"sleep", "60"}, {.timeout = std::chrono::milliseconds(100)}),
               UserError);
}

}  // namespace
}  // namespace coconet::runtime
