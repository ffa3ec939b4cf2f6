#include "coconet/runtime/stream_choice.h"

#include <gtest/gtest.h>

namespace coconet::runtime {
namespace {

using kernel::Stream;
using std::chrono::microseconds;
using Calls = std::array<int, StreamChoice::kWays.size()>;

// How many of a round's calls went each way, where they take so many microseconds.
Calls went(StreamChoice& choice, const Calls& times) {
  Calls out{};
  for (int i = 0; i < StreamChoice::kRound; ++i) {
    const StreamChoice::Call call = choice.begin();
    const auto way = static_cast<std::size_t>(call.stream);
    ++out[way];
    if (call.timed) choice.end(microseconds(times[way]));
  }
  return out;
}

constexpr int kTried = StreamChoice::kTried;
constexpr int kRest = StreamChoice::kRound - StreamChoice::kTrial + kTried;
constexpr int kFirst = StreamChoice::kUntimed;  // of a round, before anything is timed

TEST(StreamChoice, TakesWhatIsQuickest) {
  StreamChoice choice;
  EXPECT_EQ(went(choice, {100, 300, 200}), (Calls{kRest, kTried, kTried}));
  EXPECT_EQ(went(choice, {300, 100, 200}), (Calls{kTried + kFirst, kRest - kFirst, kTried}));
  EXPECT_EQ(went(choice, {300, 100, 200}), (Calls{kTried, kRest, kTried}));
  EXPECT_EQ(went(choice, {300, 200, 100}), (Calls{kTried, kTried + kFirst, kRest - kFirst}));
  EXPECT_EQ(went(choice, {100, 200, 300}), (Calls{kRest - kFirst, kTried, kTried + kFirst}));
}

// As where lines that one way leaves in the caches delay the next call of another.
TEST(StreamChoice, AWayIsNotTimedAfterAnother) {
  StreamChoice choice;
  Stream before = Stream::none;
  for (int i = 0; i < StreamChoice::kRound; ++i) {
    const StreamChoice::Call call = choice.begin();
    const int delay = call.stream == before ? 0 : 500;
    if (call.timed) choice.end(microseconds((call.stream == Stream::to_peers ? 90 : 100) + delay));
    before = call.stream;
  }
  EXPECT_EQ(choice.begin().stream, Stream::to_peers);
}

TEST(StreamChoice, StaysWithWhatItHasForASmallGain) {
  StreamChoice choice;
  EXPECT_EQ(went(choice, {100, 98, 99}), (Calls{kRest, kTried, kTried}));
  EXPECT_EQ(went(choice, {100, 98, 99}), (Calls{kRest, kTried, kTried}));
}

// A call may fail in the middle, and a communicator's next one is of another plan.
TEST(StreamChoice, ACallWithoutAnEndIsNoMeasurement) {
  StreamChoice choice;
  for (int i = 0; i < 3 * StreamChoice::kRound; ++i) {
    const StreamChoice::Call call = choice.begin();
    if (call.timed && call.stream == Stream::none) choice.end(microseconds(100));
  }
  EXPECT_EQ(went(choice, {100, 300, 300}), (Calls{kRest, kTried, kTried}));
}

}  // namespace
}  // namespace coconet::runtime
