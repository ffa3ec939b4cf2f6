#include "coconet/tune/entrants.h"

#include <algorithm>
#include <map>
#include <set>

#include "coconet/base/error.h"
#include "coconet/tune/graph_key.h"

namespace coconet::tune {
namespace {

constexpr std::size_t kOfAKind = 1;  // of schedules that differ in slices alone: at first

std::uint64_t key_of(const Entrant& entrant) { return graph_key(entrant.candidate->applied.graph); }

std::string kind_of(const Candidate& candidate) {
  std::string out;
  for (const Step& step : candidate.steps) out += without_slices(step) + ";";
  return out;
}

// The user's schedule, if it may win; else why not.
std::string need_fit(const Applied& applied, const TuneOptions& options) {
  const bool fits = applied.exactness == Exactness::exact || options.search.allow_reassociation;
  return fits ? "" : "it reassociates, which must be allowed";
}

// The user's that may win, the cheapest first; what may not is left out.
std::vector<Entrant> own_entrants(const Graph& program, const Predict& predict,
                                  const TuneOptions& options, Entrants& out) {
  std::vector<Entrant> own;
  for (const Schedule& schedule : options.schedules) {
    if (schedule.steps.empty()) continue;
    try {
      Candidate candidate{schedule.steps, apply(program, schedule)};
      candidate.predicted_us = predict(candidate.applied.graph);
      const std::string why = need_fit(candidate.applied, options);
      if (why.empty()) {
        own.push_back({&out.own.emplace_back(std::move(candidate)), schedule.name});
      } else {
        out.left_out.push_back(schedule.name + ": " + why);
      }
    } catch (const UserError& error) {
      out.left_out.push_back(schedule.name + ": " + error.message());
    }
  }
  std::ranges::stable_sort(own, {}, [](const Entrant& x) { return x.candidate->predicted_us; });
  return own;
}

// Of those found but `without`.
std::vector<Entrant> promising(const Search& found, const std::set<std::uint64_t>& without,
                               const TuneOptions& options) {
  const bool all = options.search.exhaustive;
  std::map<std::string, std::size_t> of_kind;
  std::vector<Entrant> out, later;
  for (const Candidate& candidate : found.candidates) {
    const Entrant entrant{&candidate, kFoundSchedule};
    if (candidate.steps.empty() || without.contains(key_of(entrant))) continue;
    const bool another = ++of_kind[kind_of(candidate)] > kOfAKind && !all;
    (another ? later : out).push_back(entrant);
  }
  out.insert(out.end(), later.begin(), later.end());
  if (!all) out.resize(std::min(out.size(), options.most_measured));
  return out;
}

}  // namespace

std::size_t Entrants::add(const Graph& program, const Schedule& schedule, double predicted_us) {
  Candidate candidate{schedule.steps, apply(program, schedule), predicted_us};
  const auto at = std::ranges::find(all, graph_key(candidate.applied.graph), key_of);
  const auto index = static_cast<std::size_t>(at - all.begin());
  if (at == all.end()) all.push_back({&own.emplace_back(std::move(candidate)), schedule.name});
  return index;
}

Entrants entrants(const Graph& program, const Search& found, const Predict& predict,
                  const TuneOptions& options) {
  Entrants out;
  std::set<std::uint64_t> there;
  const auto add = [&](const Entrant& entrant) {
    if (there.insert(key_of(entrant)).second) out.all.push_back(entrant);
  };
  const auto plain = std::ranges::find_if(
      found.candidates, [](const Candidate& candidate) { return candidate.steps.empty(); });
  check(plain != found.candidates.end(), "the unscheduled program is a candidate");
  add({&*plain});
  const std::vector<Entrant> own = own_entrants(program, predict, options, out);
  std::set<std::uint64_t> theirs;
  for (const Entrant& entrant : own) theirs.insert(key_of(entrant));
  const std::vector<Entrant> some = promising(found, theirs, options);
  for (std::size_t i = 0; i < std::max(own.size(), some.size()); ++i) {
    if (i < own.size()) add(own[i]);
    if (i < some.size()) add(some[i]);
  }
  return out;
}

}  // namespace coconet::tune
