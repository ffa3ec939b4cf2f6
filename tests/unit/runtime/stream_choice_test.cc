#include "coconet/runtime/stream_choice.h"

#include <gtest/gtest.h>

namespace coconet::runtime {
namespace {

using std::chrono::microseconds;

// How many of a round's calls went past the caches, where calls take so long.
int streamed(StreamChoice& choice, int plain, int stream) {
  int out = 0;
  for (int i = 0; i < StreamChoice::kRound; ++i) {
    const StreamChoice::Call call = choice.begin();
    out += call.stream ? 1 : 0;
    if (call.timed) choice.end(microseconds(call.stream ? stream : plain));
  }
  return out;
}

constexpr int kTried = StreamChoice::kTimed / 2;
constexpr int kChosen = StreamChoice::kRound - StreamChoice::kTimed + kTried;

TEST(StreamChoice, TakesWhatIsQuicker) {
  StreamChoice choice;
  EXPECT_EQ(streamed(choice, 100, 300), kTried);
  EXPECT_EQ(streamed(choice, 300, 100), kChosen - StreamChoice::kUntimed);
  EXPECT_EQ(streamed(choice, 300, 100), kChosen);
  EXPECT_EQ(streamed(choice, 100, 300), kTried + StreamChoice::kUntimed);
  EXPECT_EQ(streamed(choice, 100, 300), kTried);
}

TEST(StreamChoice, StaysWithWhatItHasForASmallGain) {
  StreamChoice choice;
  EXPECT_EQ(streamed(choice, 100, 98), kTried);
  EXPECT_EQ(streamed(choice, 100, 98), kTried);
}

// A call may fail in the middle, and a communicator's next one is of another plan.
TEST(StreamChoice, ACallWithoutAnEndIsNoMeasurement) {
  StreamChoice choice;
  for (int i = 0; i < 3 * StreamChoice::kRound; ++i) {
    const StreamChoice::Call call = choice.begin();
    if (call.timed && !call.stream) choice.end(microseconds(100));
  }
  EXPECT_EQ(streamed(choice, 100, 300), kTried);
}

}  // namespace
}  // namespace coconet::runtime
