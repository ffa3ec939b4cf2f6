#include "coconet/runtime/launch.h"

#include <algorithm>
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

constexpr std::size_t kMostListed = 16;

// What the ranks beside `first` say, a line for each; ranks that say the same share one.
std::string others_text(const std::vector<RankOutcome>& outcomes, const RankOutcome& first) {
  std::vector<std::pair<std::string, std::string>> lines;  // what is said, and by which ranks
  for (const RankOutcome& outcome : outcomes) {
    if (&outcome == &first || outcome.state == RankOutcome::finished) continue;
    const std::string rank = std::to_string(&outcome - outcomes.data());
    std::string said = outcome.error.message;
    if (said.ends_with(": " + first.error.message)) {
      said.resize(said.size() - first.error.message.size() - 2);
    }
    const auto same = std::ranges::find(lines, said, [](const auto& line) { return line.first; });
    if (same == lines.end()) {
      lines.emplace_back(said, rank);
    } else {
      same->second += ", " + rank;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostListed); ++i) {
    const auto& [said, ranks] = lines[i];
    const std::string who =
        "rank" + std::string(ranks.find(',') == ranks.npos ? " " : "s ") + ranks;
    out += "\n  ";
    if (!said.starts_with(who + " ")) out += who + ": ";
    out += said == first.error.message ? "the same" : said;
  }
  if (lines.size() > kMostListed) {
    out += "\n  and " + std::to_string(lines.size() - kMostListed) + " more";
  }
  return out;
}

}  // namespace

void raise_failed_rank(const std::vector<RankOutcome>& outcomes) {
  const RankOutcome* first = nullptr;
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.state == RankOutcome::finished) continue;
    if (first == nullptr ||
        comes_before(outcome.state, outcome.order, first->state, first->order)) {
      first = &outcome;
    }
  }
  if (first == nullptr) return;
  RankError error = first->error;
  const std::string who = "rank " + std::to_string(first - outcomes.data());
  if (!error.message.starts_with(who + " ")) error.message = who + ": " + error.message;
  if (error.kind == ErrorKind::runtime && !error.internal) {
    error.message += others_text(outcomes, *first);
  }
  error.raise();
}

void run_ranks(const LaunchOptions& options, const RankFunction& function) {
  raise_failed_rank(launch_ranks(options, function));
}

}  // namespace coconet::runtime
