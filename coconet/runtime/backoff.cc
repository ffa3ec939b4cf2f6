#include "coconet/runtime/backoff.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

namespace coconet::runtime {

namespace {

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

void Backoff::pause() {
  if (now_ < spin_until_) {
    for (int i = 0; i < 8; ++i) relax();
  } else if (now_ < yield_until_) {
    sched_yield();
  } else {
    const timespec nap{0, nap_.count()};
    nanosleep(&nap, nullptr);
    nap_ = std::min(nap_ * 2, std::chrono::nanoseconds(50000));
  }
  now_ = Clock::now();
}

void sharpen_naps() { prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); }

}  // namespace coconet::runtime
