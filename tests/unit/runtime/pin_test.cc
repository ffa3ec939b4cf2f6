#include <gtest/gtest.h>
#include <unistd.h>

#include "coconet/runtime/rank_body.h"

namespace coconet::runtime {
namespace {

// Cores that no machine has, so that no other job takes them and no thread is bound.
TEST(PinRank, NoTwoRanksTakeOneCore) {
  const int core = 1000000 + 2 * getpid();
  const std::vector<int> cores = {core, core + 1};
  const LaunchOptions job{.ranks = 1};
  FileDescriptor first = pin_rank(job, cores, 0);
  const FileDescriptor second = pin_rank(job, cores, 0);  // of another job: the other core
  EXPECT_TRUE(first.open() && second.open());
  EXPECT_FALSE(pin_rank(job, cores, 0).open());
  first.close();
  EXPECT_TRUE(pin_rank(job, cores, 1).open());
}

TEST(PinRank, NotIfRanksOutnumberCores) {
  const int core = 1000000 + 2 * getpid();
  EXPECT_FALSE(pin_rank({.ranks = 3}, {core, core + 1}, 0).open());
  EXPECT_FALSE(pin_rank({.ranks = 1, .pin = false}, {core, core + 1}, 0).open());
}

}  // namespace
}  // namespace coconet::runtime
