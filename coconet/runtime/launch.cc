#include "coconet/runtime/launch.h"

#include "coconet/runtime/rank_body.h"

namespace coconet::runtime {

std::vector<RankOutcome> launch_ranks(const LaunchOptions& options, const RankFunction& function) {
  if (options.ranks < 1) {
    throw UserError(ErrorKind::usage,
                    "a job of " + std::to_string(options.ranks) + " ranks; legal is 1 or more");
  }
  return options.kind == RankKind::process ? launch_processes(options, function)
                                           : launch_threads(options, function);
}

void raise_failed_rank(const std::vector<RankOutcome>& outcomes) {
  const RankOutcome* first = nullptr;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const RankOutcome& outcome = outcomes[i];
    if (outcome.state == RankOutcome::finished) continue;
    const bool caused = outcome.state != RankOutcome::stopped;
    const bool first_caused = first != nullptr && first->state != RankOutcome::stopped;
    if (first == nullptr || caused > first_caused ||
        (caused == first_caused && outcome.order < first->order)) {
      first = &outcome;
      rank = i;
    }
  }
  if (first == nullptr) return;
  RankError error = first->error;
  const std::string who = "rank " + std::to_string(rank);
  if (!error.message.starts_with(who + " ")) error.message = who + ": " + error.message;
  error.raise();
}

void run_ranks(const LaunchOptions& options, const RankFunction& function) {
  raise_failed_rank(launch_ranks(options, function));
}

}  // namespace coconet::runtime
