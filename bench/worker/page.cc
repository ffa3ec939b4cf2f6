#include "bench/worker/page.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace coconet::bench {

namespace {

// From the moment when the last rank is seen to have come until all begin: longer than any flag
// takes to another core.
constexpr std::int64_t kLead = 1000;
constexpr int kGroups = 25, kTrips = 10;  // of a probe

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Gate::Gate(Page* page, int rank, int ranks, bool crowded, std::function<bool()> alive)
    : page_(page), rank_(rank), ranks_(ranks), crowded_(crowded), alive_(std::move(alive)) {}

// Yields after a while, as another process may have taken a core.
void Gate::wait(const std::atomic<std::int64_t>& flag, std::int64_t least) const {
  for (std::int64_t turn = 1; flag.load(std::memory_order_acquire) < least; ++turn) {
    relax();
    if (crowded_ || turn > 20'000) sched_yield();
    if (turn % 1'000'000 == 0 && !alive_()) _exit(1);
  }
}

void Gate::meet() {
  page_->arrived[rank_].value.store(++meetings_, std::memory_order_release);
  for (int rank = 0; rank < ranks_; ++rank) wait(page_->arrived[rank].value, meetings_);
}

std::int64_t Gate::begin() {
  page_->arrived[rank_].value.store(++meetings_, std::memory_order_release);
  if (rank_ == 0) {
    for (int rank = 1; rank < ranks_; ++rank) wait(page_->arrived[rank].value, meetings_);
    page_->start.value.store(now() + kLead, std::memory_order_release);
  }
  wait(page_->start.value, start_ + 1);
  start_ = page_->start.value.load(std::memory_order_acquire);
  while (now() < start_) {
  }
  return start_;
}

double Gate::round_trip() {
  if (ranks_ < 2) return 0;
  std::vector<double> groups;
  meet();
  ++probes_;
  for (int group = 0; rank_ < 2 && group < kGroups; ++group) {
    const std::int64_t from = now();
    for (int trip = 0; trip < kTrips; ++trip) {
      ++trips_;
      if (rank_ == 0) page_->ping.value.store(trips_, std::memory_order_release);
      const auto& flag = rank_ == 0 ? page_->pong.value : page_->ping.value;
      for (std::int64_t turn = 1; flag.load(std::memory_order_acquire) < trips_; ++turn) {
        if (turn > 100'000) sched_yield();
        if (turn % 1'000'000 == 0 && !alive_()) _exit(1);
      }
      if (rank_ == 1) page_->pong.value.store(trips_, std::memory_order_release);
    }
    groups.push_back(static_cast<double>(now() - from) / kTrips);
  }
  if (rank_ == 0) page_->probed.value.store(probes_, std::memory_order_release);
  while (rank_ > 1 && page_->probed.value.load(std::memory_order_acquire) < probes_) {
    usleep(50);
    if (!alive_()) _exit(1);
  }
  meet();
  if (groups.empty()) return 0;
  std::nth_element(groups.begin(), groups.begin() + kGroups / 2, groups.end());
  return groups[kGroups / 2];
}

Page* map_page(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("cannot open the page " + path);
  void* at = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) throw std::runtime_error("cannot map the page " + path);
  return static_cast<Page*>(at);
}

}  // namespace coconet::bench
