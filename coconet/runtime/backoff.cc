#include "coconet/runtime/backoff.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

namespace coconet::runtime {

namespace {

// No pause takes that long, not even on a full machine.
constexpr auto kStopped = std::chrono::milliseconds(500);

}  // namespace

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

void Backoff::pause() {
  if (now_ < spin_until_) {
    for (int i = 0; i < 8; ++i) relax();
  } else if (now_ < yield_until_) {
    sched_yield();
  } else {
    const timespec nap{0, nap_.count()};
    nanosleep(&nap, nullptr);
    nap_ = std::min(nap_ * 2, longest_nap_);
  }
  const Clock::time_point before = now_;
  now_ = Clock::now();
  if (now_ - before > kStopped) start_ += now_ - before;
}

std::string seconds_text(Clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  char text[40];
  std::snprintf(text, sizeof text, seconds < 1000 ? "%.3g s" : "%.0f s", seconds);
  return text;
}

void sharpen_naps() { prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); }

}  // namespace coconet::runtime
