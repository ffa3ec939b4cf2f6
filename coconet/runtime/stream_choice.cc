#include "coconet/runtime/stream_choice.h"

#include <algorithm>

namespace coconet::runtime {

namespace {

// What is less may be chance.
constexpr double kGain = 0.97;

}  // namespace

StreamChoice::Call StreamChoice::begin() {
  if (calls_ == kRound) calls_ = 0;
  const int timed = calls_++ - kUntimed;
  if (timed < 0 || timed >= kTimed) return {chosen_, false};
  return {timed % 2 == 1, true};
}

void StreamChoice::end(Clock::duration time) {
  const int timed = calls_ - 1 - kUntimed;
  Clock::duration& shortest = shortest_[timed % 2];
  shortest = std::min(shortest, time);
  if (timed + 1 < kTimed) return;
  const Clock::duration now = shortest_[chosen_ ? 1 : 0], other = shortest_[chosen_ ? 0 : 1];
  if (static_cast<double>(other.count()) < kGain * static_cast<double>(now.count())) {
    chosen_ = !chosen_;
  }
  shortest_[0] = shortest_[1] = Clock::duration::max();
}

}  // namespace coconet::runtime
