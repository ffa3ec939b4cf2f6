// How a rank passes the time until a peer is ready: spins, then yields, then sleeps in growing naps
// of at most 50 us. When ranks outnumber cores it never spins, since the peer may need this core,
// and naps by as much longer, since waking up must leave the cores to those that work.
#pragma once

#include <chrono>
#include <string>

namespace coconet::runtime {

using Clock = std::chrono::steady_clock;

// A moment of a loop that looks at a flag.
void relax();

class Backoff {
 public:
  // `load`: ranks a core, rounded up.
  explicit Backoff(int load)
      : spin_until_(start_ + std::chrono::microseconds(load > 1 ? 0 : 30)),
        yield_until_(start_ + std::chrono::microseconds(load > 1 ? 200 : 1000)),
        longest_nap_(load * std::chrono::nanoseconds(50000)) {}

  void pause();
  // At the last pause, without the time in which this process was stopped (SIGSTOP, Ctrl-Z).
  Clock::duration waited() const { return now_ - start_; }

 private:
  Clock::time_point start_ = Clock::now();
  Clock::time_point now_ = start_;
  Clock::time_point spin_until_;
  Clock::time_point yield_until_;
  std::chrono::nanoseconds nap_{2000}, longest_nap_;
};

// A time as messages give it: "0.25 s", "1800 s".
std::string seconds_text(Clock::duration time);

// Lets this thread's naps end when they should, and not up to 50 us later.
void sharpen_naps();

}  // namespace coconet::runtime
