#include "coconet/runtime/bootstrap.h"

#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "coconet/base/error.h"
#include "coconet/runtime/local_socket.h"
#include "tests/support/spawn.h"

namespace coconet::runtime {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

std::string failure(const JoinOptions& options) {
  try {
    join(options);
  } catch (const UserError& error) {
    return error.message();
  }
  return "joined";
}

// Every rank's failure or "joined"; ranks join from threads, as if they were processes.
std::vector<std::string> join_all(const std::vector<JoinOptions>& ranks) {
  std::vector<std::future<std::string>> running;
  for (const JoinOptions& options : ranks) {
    running.push_back(std::async(std::launch::async, failure, options));
  }
  std::vector<std::string> out;
  for (auto& one : running) out.push_back(one.get());
  return out;
}

std::vector<JoinOptions> job(int ranks) {
  const std::string name = make_job_name();
  std::vector<JoinOptions> out;
  for (int rank = 0; rank < ranks; ++rank) {
    out.push_back({.job = name,
                   .rank = rank,
                   .ranks = ranks,
                   .data_bytes = 100,
                   .plan_hash = 0xab,
                   .timeout = milliseconds(5000)});
  }
  return out;
}

TEST(Bootstrap, AllComeAndLeaveNothing) {
  const int before = tests::open_descriptors();
  EXPECT_THAT(join_all(job(5)), testing::Each("joined"));
  EXPECT_THAT(join_all(job(1)), testing::Each("joined"));
  EXPECT_EQ(tests::open_descriptors(), before);
}

TEST(Bootstrap, EveryRankSeesTheSameSegments) {
  const auto ranks = job(2);
  std::future<Joined> other = std::async(std::launch::async, join, ranks[1]);
  const Joined mine = join(ranks[0]);
  const Joined theirs = other.get();
  ASSERT_EQ(mine.segments.size(), 2u);
  mine.segments[1].data()[3] = std::byte{9};
  EXPECT_EQ(theirs.segments[1].data()[3], std::byte{9});
  EXPECT_EQ(theirs.segments[0].data()[3], std::byte{0});
  EXPECT_TRUE(mine.deaths[1].open());
}

TEST(Bootstrap, WhoDidNotComeIsNamedToAll) {
  auto ranks = job(4);
  for (JoinOptions& rank : ranks) rank.timeout = milliseconds(500);
  ranks.erase(ranks.begin() + 2);
  EXPECT_THAT(join_all(ranks), testing::Each(HasSubstr("rank 2 did not join within 0.5 s")));
}

// As of a process that was stopped between the two.
TEST(Bootstrap, OneThatConnectsAndSaysNothingDelaysNobodyElse) {
  auto ranks = job(3);
  for (JoinOptions& rank : ranks) rank.timeout = milliseconds(500);
  std::future<std::string> first = std::async(std::launch::async, failure, ranks[0]);
  const auto silent = connect_before(ranks[0].job, Clock::now() + std::chrono::milliseconds(400));
  ASSERT_TRUE(silent);
  EXPECT_THAT(failure(ranks[2]), HasSubstr("rank 1 did not join within 0.5 s"));
  EXPECT_THAT(first.get(), HasSubstr("rank 1 did not join within 0.5 s"));
}

TEST(Bootstrap, OneThatDiesAsItJoinsIsTold) {
  const auto ranks = job(3);
  std::future<std::string> first = std::async(std::launch::async, failure, ranks[0]);
  connect_before(ranks[0].job, Clock::now() + std::chrono::seconds(4));
  EXPECT_EQ(first.get(), "one of ranks 1, 2 died as it joined");
  const auto two = job(2);
  first = std::async(std::launch::async, failure, two[0]);
  connect_before(two[0].job, Clock::now() + std::chrono::seconds(4));
  EXPECT_EQ(first.get(), "rank 1 died as it joined");
}

TEST(Bootstrap, OneThatFailedBeforeItCameIsToldToAll) {
  auto ranks = job(4);
  for (JoinOptions& rank : ranks) rank.failed_rank = [] { return 2; };
  ranks.erase(ranks.begin() + 2);
  EXPECT_THAT(join_all(ranks), testing::Each("rank 2 failed while the ranks joined"));
}

TEST(Bootstrap, RankZeroDoesNotCome) {
  auto ranks = job(2);
  ranks[1].timeout = milliseconds(300);
  EXPECT_THAT(failure(ranks[1]), HasSubstr("rank 0 did not open the job's socket within 0.3 s"));
}

TEST(Bootstrap, DisagreementNamesBothValues) {
  auto ranks = job(2);
  ranks[1].plan_hash = 0xac;
  EXPECT_THAT(join_all(ranks), testing::Each(HasSubstr("plan hash 172, rank 0 with 171")));
  ranks = job(2);
  ranks[0].setting = {"dp=2", "N=5000", "seed 7"};
  ranks[1].setting = {"dp=2", "N=5001", "seed 7"};
  EXPECT_THAT(join_all(ranks), testing::Each(HasSubstr("joined with N=5001, rank 0 with N=5000")));
  ranks = job(2);
  ranks[0].setting = ranks[1].setting = {std::string(3000, 'a'), "seed 7"};
  ranks[1].setting[1] = "seed 8";  // beyond what is sent
  EXPECT_THAT(join_all(ranks), testing::Each(HasSubstr("rank 1 joined with")));
  ranks = job(2);
  ranks[1].data_bytes = 200;
  EXPECT_THAT(join_all(ranks), testing::Each(HasSubstr("segment size 200, rank 0 with 100")));
  ranks = job(2);
  ranks[1].ranks = 3;
  EXPECT_THAT(join_all(ranks), testing::Each(HasSubstr("rank count 3, rank 0 with 2")));
  ranks = job(3);
  ranks[2].rank = 1;
  EXPECT_THAT(join_all(ranks), testing::Contains(HasSubstr("rank 1 joined twice")));
}

TEST(Bootstrap, TwoJobsOfOneName) {
  auto ranks = job(2);
  std::future<std::string> first = std::async(std::launch::async, failure, ranks[0]);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_THAT(failure(ranks[0]), HasSubstr(" is there already"));
  EXPECT_EQ(failure(ranks[1]), "joined");
  EXPECT_EQ(first.get(), "joined");
}

}  // namespace
}  // namespace coconet::runtime
