// Whether a plan's stores to other ranks go past the caches (kernel/cpu/stream.h). Which is quicker
// depends on the processor, on where the cores stand, which moves where they are virtual, and on
// sizes: a factor of three either way was seen. So both are tried now and then, and timed.
#pragma once

#include "coconet/runtime/backoff.h"

namespace coconet::runtime {

// Of one plan.
class StreamChoice {
 public:
  static constexpr int kUntimed = 2;  // calls that a round begins with
  static constexpr int kTimed = 6;    // of these every second past the caches
  static constexpr int kRound = 128;  // calls; what is quicker in one is chosen until the next

  struct Call {
    bool stream;
    bool timed;  // end() takes its time
  };
  Call begin();
  void end(Clock::duration time);

 private:
  bool chosen_ = false;
  int calls_ = 0;  // of this round
  Clock::duration shortest_[2] = {Clock::duration::max(), Clock::duration::max()};
};

}  // namespace coconet::runtime
