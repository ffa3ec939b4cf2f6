#include "coconet/runtime/launch.h"

#include <utility>

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

namespace {

// What comes first tells the reason. Ranks that joined one that was killed may have failed by that.
std::pair<int, int> reason_order(const RankOutcome& outcome) {
  const int kind = outcome.state == RankOutcome::killed   ? 0
                   : outcome.state == RankOutcome::failed ? 1
                                                          : 2;
  return {kind, outcome.order};
}

}  // namespace

void raise_failed_rank(const std::vector<RankOutcome>& outcomes) {
  const RankOutcome* first = nullptr;
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.state == RankOutcome::finished) continue;
    if (first == nullptr || reason_order(outcome) < reason_order(*first)) first = &outcome;
  }
  if (first == nullptr) return;
  RankError error = first->error;
  const std::string who = "rank " + std::to_string(first - outcomes.data());
  if (!error.message.starts_with(who + " ")) error.message = who + ": " + error.message;
  error.raise();
}

void run_ranks(const LaunchOptions& options, const RankFunction& function) {
  raise_failed_rank(launch_ranks(options, function));
}

}  // namespace coconet::runtime
