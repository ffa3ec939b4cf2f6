// coconet build: a C program joins the ranks of a library that was compiled before.
#include <gmock/gmock.h>

#include <unistd.h>

#include <cstdlib>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;

const std::string kUser = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sgd.h"

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, sgd_error());
  return 1;
}

/* Arguments: the job, the rank, N, and "bind" for memory of its own. */
int main(int argc, char** argv) {
  const int rank = atoi(argv[2]);
  sgd_setting setting;
  memset(&setting, 0, sizeof setting);
  setting.mesh_dp = 2;
  setting.dim_N = atoll(argv[3]);
  setting.timeout = -1;
  if (sgd_join(argv[1], rank, &setting) || !strstr(sgd_error(), "seconds from 0")) return 4;
  setting.timeout = 20;
  if (sgd_join(0, rank, &setting) || !strstr(sgd_error(), "no name of a job")) return 4;
  if (sgd_join(argv[1], rank, 0) || !strstr(sgd_error(), "found no setting")) return 4;
  if (sgd_call(0) != -1 || !strstr(sgd_error(), "found no rank")) return 4;
  sgd_rank* me = sgd_join(argv[1], rank, &setting);
  if (!me) return failed("join");
  size_t bytes = 0;
  float* p = sgd_tensor(me, "p", &bytes);
  if (argc > 4) {
    p = malloc(setting.dim_N * sizeof(float));
    if (sgd_bind(me, "p", p, setting.dim_N * sizeof(float)) != 0) return failed("bind");
    bytes = setting.dim_N * sizeof(float);
  }
  uint16_t* g = sgd_tensor(me, "g", 0);
  float* lr = sgd_tensor(me, "lr", 0);
  if (!p || !g || !lr || bytes != setting.dim_N * sizeof(float)) return failed("tensors");
  if (sgd_tensor(me, "q", 0) || !strstr(sgd_error(), "no input, state or output q")) return 2;
  if (sgd_tensor(me, 0, 0) || !strstr(sgd_error(), "no name of a tensor")) return 2;
  *lr = 0.5f;
  for (int64_t i = 0; i < setting.dim_N; ++i) {
    p[i] = 10.0f + i;
    g[i] = rank == 0 ? 0x3c00 : 0x4200; /* 1 and 3 in f16 */
  }
  for (int call = 1; call <= 3; ++call) {
    if (sgd_call(me) != 0) return failed("call");
    for (int64_t i = 0; i < setting.dim_N; ++i) {
      if (p[i] != 10.0f + i - call) return 3;
    }
  }
  sgd_leave(me);
  return 0;
}
)";

// The exit status of a shell's commands; what they say on stderr is shown.
int shell(const std::string& commands) { return std::system(commands.c_str()); }

class BuildProcess : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

  ToolResult build(const std::string& options, const std::string& file = "examples/sgd.coco") {
    return run_tool("build " + file + " -o " + path("sgd.so") + " --header " + path("sgd.h") + " " +
                    options);
  }

  // Two ranks of the C program; 0 if both are right.
  int run(const std::string& size, const std::string& more = "") {
    test::write_text(path("user.c"), kUser);
#if defined(__SANITIZE_ADDRESS__)
    const std::string with = "-fsanitize=address ";  // as the library that it calls
#else
    const std::string with;
#endif
    const std::string compile = "cc -std=c99 -Wall -Wextra -Werror " + with + "-o " + path("user") +
                                " " + path("user.c") + " " + path("sgd.so");
    if (shell(compile) != 0) return -1;
    const std::string job = "test-" + std::to_string(getpid()) + "-" + size;
    const auto rank = [&](const char* number) {
      return path("user") + " " + job + " " + number + " " + size + " " + more;
    };
    return shell(rank("0") + " & first=$!; " + rank("1") +
                 "; second=$?; wait $first && exit $second");
  }

  TemporaryFolder folder_;
};

TEST_F(BuildProcess, ALibraryIsCalledFromC) {
  const ToolResult result = build("--schedule sharded");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(test::read_text(path("sgd.h")),
              testing::AllOf(HasSubstr("g: f16[N] local"), HasSubstr("int64_t dim_N;"),
                             HasSubstr("int sgd_call(sgd_rank* rank);")));
  EXPECT_EQ(run("5000"), 0);
  EXPECT_EQ(run("3"), 0);
}

TEST_F(BuildProcess, OfAChoiceTheSizesPick) {
  test::write_text(path("both.coco"),
                   test::read_text("examples/sgd.coco") +
                       "\nchoice by_size for sgd {\n  N <= 64: unscheduled one_shot\n"
                       "  else: sharded\n}\n");
  const ToolResult result = build("--schedule by_size", path("both.coco"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(run("64"), 0);
  EXPECT_EQ(run("65"), 0);
}

// Of states each rank holds what the schedule leaves to it.
TEST_F(BuildProcess, TheHeaderHasTypesAsScheduled) {
  const ToolResult result = build("--schedule sharded", "examples/adam.coco");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(test::read_text(path("sgd.h")),
              testing::AllOf(HasSubstr("state    m: f32[N] sliced(*)"),
                             HasSubstr("scalar   lr: f32[] = 0.001")));
}

TEST_F(BuildProcess, MemoryOfTheCallersIsBound) {
  const ToolResult result = build("--schedule sharded --staged p");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(run("5000", "bind"), 0);
}

TEST_F(BuildProcess, WhatThereIsNotIsRefused) {
  EXPECT_EQ(build("--schedule shraded").exit_code, 2);
  EXPECT_THAT(build("--schedule shraded").err, HasSubstr("did you mean `sharded`?"));
  EXPECT_THAT(build("--schedule auto").err, HasSubstr("--schedule auto is of run"));
  EXPECT_THAT(run_tool("build examples/sgd.coco -o " + path("x.so")).err,
              HasSubstr("build needs --header"));
  const std::string sgd = path("own.coco"), text = test::read_text("examples/sgd.coco");
  test::write_text(sgd, text);
  for (const std::string& written :
       {"-o " + sgd + " --header " + path("x.h"), "-o " + path("x.so") + " --header " + sgd,
        "-o " + path("x") + " --header " + path("x")}) {
    EXPECT_EQ(run_tool("build " + sgd + " " + written).exit_code, 2) << written;
  }
  EXPECT_EQ(test::read_text(sgd), text);
  EXPECT_EQ(build("--dtype G=f32").exit_code, 0);
  EXPECT_THAT(test::read_text(path("sgd.h")), HasSubstr("g: f32[N] local"));
  EXPECT_NE(run("5000", "bind"), 0);  // p was not staged
}

}  // namespace
}  // namespace coconet::tests
