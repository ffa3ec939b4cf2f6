// How a rank passes the time until a peer is ready: spins, then yields, then sleeps in growing naps
// of at most 50 us. When ranks outnumber cores it never spins, since the peer may need this core.
#pragma once

#include <chrono>
#include <string>

namespace coconet::runtime {

using Clock = std::chrono::steady_clock;

class Backoff {
 public:
  explicit Backoff(bool oversubscribed)
      : spin_until_(start_ + std::chrono::microseconds(oversubscribed ? 0 : 30)),
        yield_until_(start_ + std::chrono::microseconds(oversubscribed ? 200 : 1000)) {}

  void pause();
  // At the last pause, without the time in which this process was stopped (SIGSTOP, Ctrl-Z).
  Clock::duration waited() const { return now_ - start_; }

 private:
  Clock::time_point start_ = Clock::now();
  Clock::time_point now_ = start_;
  Clock::time_point spin_until_;
  Clock::time_point yield_until_;
  std::chrono::nanoseconds nap_{2000};
};

// A time as messages give it: "0.25 s", "1800 s".
std::string seconds_text(Clock::duration time);

// Lets this thread's naps end when they should, and not up to 50 us later.
void sharpen_naps();

}  // namespace coconet::runtime
