#include "coconet/runtime/rank_body.h"

#include <string>
#include <utility>

namespace coconet::runtime {

void run_rank(Communicator& communicator, const RankCores& cores, const RankFunction& function,
              const JobRecord& job) {
  sharpen_naps();
  try {
    communicator.start_threads([&](int thread) { cores.bind(thread); });
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

RankCores pin_rank(const LaunchOptions& options, const std::vector<int>& cores, int rank) {
  const std::size_t threads = static_cast<std::size_t>(options.ranks) *
                              static_cast<std::size_t>(options.communicator.threads);
  if (!options.pin || threads > cores.size()) return {};
  return RankCores(cores, rank, options.communicator.threads);
}

}  // namespace coconet::runtime
