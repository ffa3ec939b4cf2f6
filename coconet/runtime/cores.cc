#include "coconet/runtime/cores.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "coconet/runtime/local_socket.h"

namespace coconet::runtime {

namespace {

// As many processors' time as the control group gets, rounded up; nothing if it has no bound. Its
// file says "200000 100000" or "max 100000": microseconds of each period.
std::optional<int> cores_of_group() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::")) continue;
    std::ifstream file("/sys/fs/cgroup" + line.substr(3) + "/cpu.max");
    long quota = 0, period = 0;
    if (file >> quota >> period && quota > 0 && period > 0) {
      return static_cast<int>((quota - 1) / period + 1);
    }
  }
  return std::nullopt;
}

bool addresses_are_bounded() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void bind_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core < CPU_SETSIZE) CPU_SET(core, &set);
  }
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t set;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) out.push_back(core);
  }
  return out;
}

int threads_with_cores(int ranks) {
  if (addresses_are_bounded()) return 1;
  int cores = static_cast<int>(allowed_cores().size());
  if (const std::optional<int> bound = cores_of_group()) cores = std::min(cores, *bound);
  return std::max(1, cores / std::max(1, ranks));
}

RankCores::RankCores(std::vector<int> cores, int rank, int threads) : cores_(std::move(cores)) {
  std::size_t next = static_cast<std::size_t>(rank) * static_cast<std::size_t>(threads);
  for (int thread = 0; thread < threads; ++thread) {
    taken_.push_back({-1, {}});
    // Where the one before stood last, so that the threads stay together.
    for (std::size_t tried = 0; tried < cores_.size() && !taken_.back().claim.open(); ++tried) {
      const int core = cores_[next++ % cores_.size()];
      taken_.back() = {core, claim_name("coconet-core-" + std::to_string(core))};
    }
  }
}

void RankCores::bind(int thread) const {
  if (taken_.empty()) return;
  const Taken& own = taken_[static_cast<std::size_t>(thread)];
  // A worker begins where the rank's thread is bound.
  if (own.claim.open()) bind_to({own.core});
  if (!own.claim.open() && thread > 0) bind_to(cores_);
}

void RankCores::come_home() const {
  if (taken_.empty() || !taken_[0].claim.open() || sched_getcpu() == taken_[0].core) return;
  const std::vector<int> before = allowed_cores();
  if (!std::ranges::binary_search(before, taken_[0].core)) return;  // not allowed any more
  bind_to({taken_[0].core});
  bind_to(before);
}

std::shared_ptr<const RankCores> cores_of_joined(int rank, int ranks, int threads) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const RankCores>> by_rank;
  std::vector<int> cores = allowed_cores();
  if (static_cast<std::size_t>(ranks) * static_cast<std::size_t>(threads) > cores.size()) return {};
  const std::lock_guard lock(mutex);
  std::shared_ptr<const RankCores> out = by_rank[rank].lock();
  if (!out)
    by_rank[rank] = out = std::make_shared<const RankCores>(std::move(cores), rank, threads);
  return out;
}

int RankCores::taken() const {
  return static_cast<int>(
      std::ranges::count_if(taken_, [](const Taken& each) { return each.claim.open(); }));
}

}  // namespace coconet::runtime
