// Which stores of a plan go past the caches (kernel/cpu/stream.h). What is quickest depends on the
// processor, on where the cores stand, which moves where they are virtual, and on sizes: a factor
// of three either way was seen. So all ways are tried now and then, and timed.
#pragma once

#include <array>

#include "coconet/kernel/call.h"
#include "coconet/runtime/backoff.h"

namespace coconet::runtime {

// Of one plan.
class StreamChoice {
 public:
  static constexpr std::array kWays = {kernel::Stream::none, kernel::Stream::to_peers,
                                       kernel::Stream::all};
  static constexpr int kUntimed = 2;  // calls that a round begins with
  // Of each way so many in a row, the first untimed: a way leaves lines in the caches where the
  // next call of another finds them.
  static constexpr int kTried = 4;
  static constexpr int kTrial = kTried * static_cast<int>(kWays.size());
  static constexpr int kRound = 256;  // calls; what is quickest in one is chosen until the next

  struct Call {
    kernel::Stream stream;
    bool timed;  // end() takes its time
  };
  StreamChoice();
  Call begin();
  void end(Clock::duration time);

 private:
  std::size_t chosen_ = 0;  // index of a way
  int calls_ = 0;           // of this round
  std::array<Clock::duration, kWays.size()> shortest_;
};

}  // namespace coconet::runtime
