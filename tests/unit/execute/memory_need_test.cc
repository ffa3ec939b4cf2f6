#include "coconet/execute/memory_need.h"

#include <gmock/gmock.h>

#include "coconet/plan/from_schedule.h"
#include "coconet/runtime/memory.h"
#include "coconet/schedule/file.h"
#include "tests/support/files.h"

namespace coconet::execute {
namespace {

const char* const kSum = R"(
mesh world(dp)
dim N
program sum(x: f32[N] local) {
  y = all_reduce(x, +)
  return y
})";

// With inputs that are drawn, and would have been drawn before the ranks' buffers were found not to
// fit.
TEST(MemoryNeed, IsKnownBeforeInputsAreDrawn) {
  const auto available = runtime::available_memory();
  if (!available) GTEST_SKIP() << "/proc is not mounted";
  const plan::Plan plan = plan::from_schedule(parse_program(kSum));
  interp::Setting setting;
  setting.mesh.sizes = {2};
  setting.sizes["N"] = static_cast<std::int64_t>(*available / 20);  // inputs of 8 N bytes
  EXPECT_LT(bytes_to_draw(plan.graph, setting, {}), *available / 2);
  EXPECT_THAT(test::user_error_of([&] { need_memory_of_run(plan, setting, {}, {}); }),
              testing::MatchesRegex("the run \\(the inputs .* GiB, the ranks' pieces of the inputs "
                                    ".* GiB, the ranks' buffers .* GiB, the results .* GiB\\) "
                                    "needs .* GiB of memory; there is .* GiB left; .*"));
  setting.sizes["N"] = std::int64_t{1} << 61;
  EXPECT_THAT(test::user_error_of([&] { need_memory_of_run(plan, setting, {}, {}); }),
              testing::HasSubstr("the inputs need"));
  setting.sizes["N"] = 1000;
  need_memory_of_run(plan, setting, {}, {});
}

// Each rank keeps its right operands in another order.
TEST(MemoryNeed, CountsPackedOperandsOfProducts) {
  const auto available = runtime::available_memory();
  if (!available) GTEST_SKIP() << "/proc is not mounted";
  const plan::Plan plan = plan::from_schedule(parse_program(R"(
mesh world(tp)
dim N
program product(x: f32[1,N], w: f32[N,1]) {
  y = matmul(x, w)
  return y
})"));
  interp::Setting setting;
  setting.mesh.sizes = {2};
  setting.sizes["N"] = static_cast<std::int64_t>(*available / 20);
  EXPECT_THAT(
      test::user_error_of([&] { need_memory_of_run(plan, setting, {}, {}); }),
      testing::ContainsRegex("the ranks' packed operands of products [0-9.]*[1-9][0-9.]* GiB"));
}

}  // namespace
}  // namespace coconet::execute
