#include "coconet/runtime/memory.h"

#include <gmock/gmock.h>

#include "coconet/base/error.h"
#include "tests/support/files.h"

namespace coconet::runtime {
namespace {

TEST(Memory, TooMuchIsRefusedWithBothNumbers) {
  const auto available = available_memory();
  if (!available) GTEST_SKIP() << "/proc is not mounted";
  EXPECT_GT(*available, 0u);
  need_memory(*available / 2, "the inputs");
  EXPECT_THAT(test::user_error_of([&] { need_memory(*available * 4, "the inputs"); }),
              testing::MatchesRegex("the inputs need .* GiB of memory; there is .* GiB left; "
                                    "smaller sizes need less"));
}

}  // namespace
}  // namespace coconet::runtime
