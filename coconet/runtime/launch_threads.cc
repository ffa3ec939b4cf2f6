#include <thread>

#include "coconet/runtime/rank_body.h"

namespace coconet::runtime {

std::vector<RankOutcome> launch_threads(const LaunchOptions& options,
                                        const RankFunction& function) {
  const JobRecord job(options.ranks);
  const std::vector<Segment> segments =
      make_thread_segments(options.ranks, segment_bytes(options.data_bytes));
  const std::vector<int> cores = allowed_cores();
  CommunicatorOptions settings = options.communicator;
  if (settings.cores == 0) settings.cores = static_cast<int>(cores.size());
  const auto body = [&](int rank) {
    const RankCores own = pin_rank(options, cores, rank);
    own.bind(0);
    Communicator communicator(rank, segments, {}, settings);
    run_rank(communicator, own, function, job);
  };
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < options.ranks; ++rank) threads.emplace_back(body, rank);
  } catch (...) {
    const RankError error = rank_error_of(std::current_exception());
    for (int rank = static_cast<int>(threads.size()); rank < options.ranks; ++rank) {
      Communicator(rank, segments, {}, settings).publish_failure(error);
    }
    for (std::thread& thread : threads) thread.join();
    throw UserError(ErrorKind::runtime, "cannot start rank " + std::to_string(threads.size()) +
                                            " as a thread: " + error.message);
  }
  std::vector<RankOutcome> out;
  for (int rank = 0; rank < options.ranks; ++rank) {
    threads[static_cast<std::size_t>(rank)].join();
    out.push_back(outcome_of(job.rank(rank)));
  }
  return out;
}

}  // namespace coconet::runtime
