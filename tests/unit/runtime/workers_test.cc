// The threads of a rank: each part once, on a thread of its own, and whatever ends a part is heard
// when all have ended.
#include "coconet/runtime/workers.h"

#include <gmock/gmock.h>

#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "tests/refusal.h"

namespace coconet::runtime {
namespace {

using kernel::Status;

// Calls work(part) for each part.
template <class Work>
Status divide(Workers& workers, int parts, const Work& work) {
  const auto perform = [](const void* context, int part) -> Status {
    return (*static_cast<const Work*>(context))(part);
  };
  return workers.divide(parts, perform, &work);
}

TEST(Workers, PerformEachPartOnce) {
  constexpr int kThreads = 5;
  Workers workers(kThreads, 1, [](int) {});
  std::mt19937 random(1);
  std::vector<int> done(kThreads, 0), want(kThreads, 0);
  int seen = 0;  // written by the rank's thread between rounds, read by all in one
  for (int round = 0; round < 3000; ++round) {
    const int parts = std::uniform_int_distribution<int>(1, kThreads)(random);
    seen = round;
    std::vector<int> of_round(kThreads, -1);
    ASSERT_EQ(divide(workers, parts,
                     [&](int part) {
                       ++done[part];
                       of_round[part] = seen;
                       return kernel::kOk;
                     }),
              kernel::kOk);
    for (int part = 0; part < kThreads; ++part) {
      EXPECT_EQ(of_round[part], part < parts ? round : -1);
      want[part] += part < parts;
    }
  }
  EXPECT_EQ(done, want);
}

TEST(Workers, EachHasItsThreadAndBeginsWithItsNumber) {
  std::vector<std::thread::id> begun(4), first(4), second(4);
  Workers workers(4, 2, [&](int thread) { begun[thread] = std::this_thread::get_id(); });
  for (auto* threads : {&first, &second}) {
    divide(workers, 4, [&](int part) {
      (*threads)[part] = std::this_thread::get_id();
      return kernel::kOk;
    });
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 4u);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  begun[0] = first[0];
  EXPECT_EQ(begun, first);
}

// Longer than they stay awake.
TEST(Workers, WakeUp) {
  for (const int load : {1, 4}) {
    Workers workers(3, load, [](int) {});
    std::vector<int> done(3, 0);
    for (int round = 0; round < 20; ++round) {
      if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(round));
      divide(workers, 3, [&](int part) {
        ++done[part];
        return kernel::kOk;
      });
    }
    EXPECT_THAT(done, testing::Each(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // they end asleep
  }
}

TEST(Workers, AFailedPartEndsWithTheRest) {
  Workers workers(4, 1, [](int) {});
  for (int failing = 0; failing < 4; ++failing) {
    std::vector<int> done(4, 0);
    const Status status = divide(workers, 4, [&](int part) {
      if (part == failing) return kernel::kFailed;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++done[part];
      return kernel::kOk;
    });
    EXPECT_EQ(status, kernel::kFailed);
    for (int part = 0; part < 4; ++part) EXPECT_EQ(done[part], part == failing ? 0 : 1);
  }
}

TEST(Workers, WhatAPartThrowsIsThrownByTheCaller) {
  Workers workers(3, 1, [](int) {});
  for (int first = 0; first < 3; ++first) {
    const auto throws = [&](int part) -> Status {
      if (part >= first) throw UserError(ErrorKind::data, "part " + std::to_string(part));
      return kernel::kOk;
    };
    fixture::expect_refused([&] { divide(workers, 3, throws); }, {"part " + std::to_string(first)});
  }
  EXPECT_EQ(divide(workers, 3, [](int) { return kernel::kOk; }), kernel::kOk);
}

}  // namespace
}  // namespace coconet::runtime
