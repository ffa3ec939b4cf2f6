#include "coconet/runtime/stream_choice.h"

#include <algorithm>

namespace coconet::runtime {

namespace {

// What is less may be chance.
constexpr double kGain = 0.97;

}  // namespace

StreamChoice::StreamChoice() { shortest_.fill(Clock::duration::max()); }

StreamChoice::Call StreamChoice::begin() {
  if (calls_ == kRound) calls_ = 0;
  const int trial = calls_++ - kUntimed;
  if (trial < 0 || trial >= kTrial) return {kWays[chosen_], false};
  return {kWays[static_cast<std::size_t>(trial / kTried)], trial % kTried > 0};
}

void StreamChoice::end(Clock::duration time) {
  const int trial = calls_ - 1 - kUntimed;
  Clock::duration& shortest = shortest_[static_cast<std::size_t>(trial / kTried)];
  shortest = std::min(shortest, time);
  if (trial + 1 < kTrial) return;
  const auto quickest = std::min_element(shortest_.begin(), shortest_.end());
  const auto now = static_cast<double>(shortest_[chosen_].count());
  if (static_cast<double>(quickest->count()) < kGain * now) {
    chosen_ = static_cast<std::size_t>(quickest - shortest_.begin());
  }
  shortest_.fill(Clock::duration::max());
}

}  // namespace coconet::runtime
