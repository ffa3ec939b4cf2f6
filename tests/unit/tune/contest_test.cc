// Times of rounds on a machine whose speed drifts.
#include "coconet/tune/contest.h"

#include <gtest/gtest.h>

namespace coconet::tune {
namespace {

TEST(Contest, WhatIsQuickInEveryRoundWinsThoughTheMachineDrifts) {
  // The second takes 5 % more in each round, and has its turn when the machine is quick once.
  const std::vector<Timing> timings =
      timings_of({{100, 120, 140, 110, 100, 130}, {105, 126, 98, 115.5, 105, 136.5}});
  EXPECT_LT(timings[0].us, timings[1].us);
  EXPECT_NEAR(timings[1].us / timings[0].us, 1.05, 0.02);
  EXPECT_GT(timings[1].spread, 0.2);
}

TEST(Contest, OneDisturbedTurnOfAScheduleIsNoLoss) {
  const std::vector<Timing> timings = timings_of({{100, 900, 100, 100}, {101, 101, 101, 101}});
  EXPECT_LT(timings[0].us, timings[1].us);
}

// Of six rounds: as on a machine where others take cores all the time.
TEST(Contest, OneQuietTurnInThreeIsEnough) {
  const std::vector<Timing> timings = timings_of({{300, 100, 900, 500, 100, 400},
                                                  {200, 800, 220, 900, 700, 200},
                                                  {250, 990, 250, 260, 980, 900}});
  EXPECT_LT(timings[0].us, timings[1].us);
  EXPECT_LT(timings[1].us, timings[2].us);
}

TEST(Contest, TimesAreThoseOfTheQuickestRound) {
  const std::vector<Timing> timings = timings_of({{10, 20, 40}, {20, 40, 80}});
  EXPECT_NEAR(timings[0].us, 10, 1e-9);
  EXPECT_NEAR(timings[1].us, 20, 1e-9);
  EXPECT_NEAR(timings[1].spread, 0, 1e-9);
  EXPECT_TRUE(timings_of({}).empty());
}

}  // namespace
}  // namespace coconet::tune
