#include "coconet/runtime/rank_body.h"

#include <sched.h>

#include <string>
#include <utility>

#include "coconet/runtime/local_socket.h"

namespace coconet::runtime {

void run_rank(Communicator& communicator, const RankFunction& function, const JobRecord& job) {
  sharpen_naps();
  try {
    function(communicator);
    communicator.raise_failure();
  } catch (...) {
    const RankError error = rank_error_of(std::current_exception());
    communicator.publish_failure(error);
    record_end(job, communicator.rank(),
               communicator.stopped_by() ? RankOutcome::stopped : RankOutcome::failed, error);
    return;
  }
  communicator.publish_left();
  record_end(job, communicator.rank(), RankOutcome::finished, {});
}

void record_end(const JobRecord& job, int rank, RankOutcome::State state, const RankError& error) {
  RankRecord& record = job.rank(rank);
  record.state = state;
  record.order = job.next_order();
  record.error.store(error);
  record.ended.store(true, std::memory_order_release);
}

bool comes_before(RankOutcome::State state, int order, RankOutcome::State other, int other_order) {
  const auto kind = [](RankOutcome::State of) {
    return of == RankOutcome::killed ? 0 : of == RankOutcome::failed ? 1 : 2;
  };
  return std::pair(kind(state), order) < std::pair(kind(other), other_order);
}

RankOutcome outcome_of(const RankRecord& record) {
  check(record.ended.load(std::memory_order_acquire), "a rank with an outcome has ended");
  return {record.state, record.error.load(), record.order};
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) out.push_back(core);
  }
  return out;
}

FileDescriptor pin_rank(const LaunchOptions& options, const std::vector<int>& cores, int rank) {
  if (!options.pin || static_cast<std::size_t>(options.ranks) > cores.size()) return {};
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const int core = cores[(static_cast<std::size_t>(rank) + i) % cores.size()];
    FileDescriptor claim = claim_name("coconet-core-" + std::to_string(core));
    if (!claim.open()) continue;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    // A refusal costs speed only.
    sched_setaffinity(0, sizeof set, &set);
    return claim;
  }
  return {};
}

}  // namespace coconet::runtime
