#include "coconet/runtime/memory.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

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

TEST(Memory, ALimitOfAddressesIsRefusedWithBothNumbers) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  std::uint64_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) GTEST_SKIP() << "/proc is not mounted";
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  rlimit tight = limit;
  tight.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + kGiB;
  const std::vector<MemoryPart> parts = {{"the inputs", kGiB / 10}, {"the results", kGiB / 20}};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const std::string error = test::user_error_of([&] { need_memory(parts, kGiB * 2); });
  need_memory(parts, kGiB / 2);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_THAT(error, testing::MatchesRegex("a process of the run \\(the inputs .*, the results .*"
                                           "\\) needs 2 GiB of addresses, which ulimit -v bounds; "
                                           "there is .* left; smaller sizes need less"));
}

}  // namespace
}  // namespace coconet::runtime
