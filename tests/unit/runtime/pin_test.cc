#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "coconet/runtime/rank_body.h"

namespace coconet::runtime {
namespace {

// Cores that no machine has, so that no other job takes them and no thread is bound.
std::vector<int> no_cores(int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(1000000 + 8 * getpid() + i);
  return out;
}

LaunchOptions job(int ranks, int threads = 1) {
  LaunchOptions out{.ranks = ranks};
  out.communicator.threads = threads;
  return out;
}

TEST(PinRank, NoTwoRanksTakeOneCore) {
  const std::vector<int> cores = no_cores(2);
  std::optional<RankCores> first = pin_rank(job(1), cores, 0);
  const RankCores second = pin_rank(job(1), cores, 0);  // of another job: the other core
  EXPECT_EQ(first->taken(), 1);
  EXPECT_EQ(second.taken(), 1);
  EXPECT_EQ(pin_rank(job(1), cores, 0).taken(), 0);
  first.reset();
  EXPECT_EQ(pin_rank(job(1), cores, 1).taken(), 1);
}

TEST(PinRank, NotIfThreadsOutnumberCores) {
  const std::vector<int> cores = no_cores(4);
  EXPECT_EQ(pin_rank(job(5), cores, 0).taken(), 0);
  EXPECT_EQ(pin_rank(job(2, 3), cores, 0).taken(), 0);
  LaunchOptions not_wanted = job(1);
  not_wanted.pin = false;
  EXPECT_EQ(pin_rank(not_wanted, cores, 0).taken(), 0);
}

// Each thread of each rank has a core; of another job only what is left.
TEST(PinRank, ThreadsOfARankTakeACoreEach) {
  const std::vector<int> cores = no_cores(7);
  const RankCores first = pin_rank(job(2, 3), cores, 0), second = pin_rank(job(2, 3), cores, 1);
  EXPECT_EQ(first.taken(), 3);
  EXPECT_EQ(second.taken(), 3);
  const RankCores other = pin_rank(job(1, 3), cores, 0);
  EXPECT_EQ(other.taken(), 1);
  EXPECT_EQ(pin_rank(job(1), cores, 0).taken(), 0);
}

// Another test may hold a core; whoever has none stays where it is.
TEST(CoresOfJoined, ACallBeginsOnTheRanksCoreAndMayGoOn) {
  const std::vector<int> allowed = allowed_cores();
  const int ranks = static_cast<int>(allowed.size());
  const auto own = cores_of_joined(ranks - 1, ranks, 1);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(cores_of_joined(ranks - 1, ranks, 1), own);
  for (int tries = 0; tries < 20; ++tries) {
    own->come_home();
    EXPECT_EQ(allowed_cores(), allowed);
  }
  EXPECT_EQ(cores_of_joined(0, ranks + 1, 1), nullptr);
  EXPECT_EQ(cores_of_joined(0, ranks, 2), nullptr);
}

TEST(ThreadsWithCores, ShareThemAndAreOneAtLeast) {
  const int cores = threads_with_cores(1);
  EXPECT_GE(cores, 1);
  EXPECT_LE(cores, static_cast<int>(allowed_cores().size()));
  EXPECT_EQ(threads_with_cores(cores), 1);
  EXPECT_EQ(threads_with_cores(1000000), 1);
}

}  // namespace
}  // namespace coconet::runtime
