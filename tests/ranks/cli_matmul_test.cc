// A GEMM library whose bits depend on the chunk, as on a machine that nobody has tried.
#include <gmock/gmock.h>
#include <stdlib.h>

#include "coconet/runtime/subprocess.h"
#include "coconet_paths.h"
#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// f32 alone; adds from the other end where there are few rows.
constexpr char kGemm[] = R"(
#include "coconet/runtime/gemm/gemm.h"
extern "C" __attribute__((visibility("default"))) int coconet_gemm_v3(
    const coconet::kernel::MatmulCall* call, char*, std::size_t) {
  const auto* a = static_cast<const float*>(call->a);
  const auto* b = static_cast<const float*>(call->b);
  for (std::int64_t i = 0; i < call->m; ++i) {
    for (std::int64_t j = 0; j < call->n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < call->k; ++k) {
        const std::int64_t at = call->m < 8 ? call->k - 1 - k : k;
        sum += a[i * call->a_stride + at] * b[at * call->b_stride + j];
      }
      static_cast<float*>(call->out)[i * call->out_stride + j] = sum;
    }
  }
  return 0;
}
)";

TEST(CliMatmul, BitsThatDependOnTheChunkMakeSchedulesReassociate) {
  const test::TemporaryFolder folder;
  test::write_text(folder.path("gemm.cc"), kGemm);
  const runtime::ProcessResult built = runtime::run_process(
      {kHostCompiler, "-std=c++20", "-shared", "-fPIC", "-I" + std::string(kSourceDir), "-o",
       folder.path("gemm.so"), folder.path("gemm.cc")});
  ASSERT_TRUE(built.succeeded()) << built.output;
  setenv("COCONET_GEMM", folder.path("gemm.so").c_str(), 1);
  const ToolResult result = run_tool(
      "run examples/attention.coco --dtype T=f32 --dim B=2,S=16,H=64 --ranks 2 "
      "--schedule overlapped --chunks 4 --verify");
  unsetenv("COCONET_GEMM");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning: schedules reassociate on this machine: "
                                          "matmul of f32: "),
                                HasSubstr("differs from one whole product")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("bit-equal to unscheduled: no (the schedule "
                                          "reassociates"),
                                HasSubstr("within bound: yes")));
}

}  // namespace
}  // namespace coconet::tests
