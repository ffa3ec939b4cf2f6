#include "coconet/tune/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "coconet/graph/walk.h"
#include "coconet/schedule/region.h"
#include "coconet/tune/graph_key.h"

namespace coconet::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFollowed = 12;    // of each round of communication steps
constexpr std::size_t kOfAllSlices = 2;  // of steps that differ in their slice alone
constexpr int kMostRounds = 6;
constexpr std::size_t kOfRounds = 4;   // of the graphs that there may be, one in so many
constexpr double kWorthFollowing = 3;  // times the cheapest: beyond, not followed

struct State {
  Candidate candidate;
  std::string kind;  // its steps without slices
};

std::vector<std::string> names_in(const StepArgument& argument) {
  if (const std::string* name = std::get_if<std::string>(&argument)) return {*name};
  const auto* names = std::get_if<std::vector<std::string>>(&argument);
  return names ? *names : std::vector<std::string>{};
}

std::set<std::string> names_of(const Step& step) {
  std::set<std::string> out;
  for (const StepArgument& argument : step.arguments) {
    for (const std::string& name : names_in(argument)) out.insert(name);
  }
  return out;
}

class Searcher {
 public:
  Searcher(const Graph& graph, const Predict& predict, const SearchOptions& options)
      : predict_(predict), options_(options), began_(Clock::now()) {
    start_.applied = start(graph);
  }

  Search run() {
    start_.predicted_us = predict_(start_.applied.graph);
    measured_.insert(graph_key(start_.applied.graph));
    best_ = start_.predicted_us;
    out_.candidates.push_back(start_);
    // What these rounds reach is worth nothing if none of it is followed to its end.
    most_graphs_ = options_.most_graphs / kOfRounds;
    const std::vector<State> communicating = communication_rounds();
    most_graphs_ = options_.most_graphs;
    for (const State& state : communicating) finish(state.candidate);
    std::ranges::stable_sort(out_.candidates, {}, &Candidate::predicted_us);
    out_.graphs = seen_.size();
    out_.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - began_).count();
    return std::move(out_);
  }

 private:
  bool spent() {
    const bool late = !options_.exhaustive && Clock::now() - began_ > options_.time;
    const bool spent = late || seen_.size() >= most_graphs_;
    if (spent) out_.complete = false;
    return spent;
  }

  // False for a graph that was there before.
  bool is_new(const Candidate& candidate) {
    return seen_.insert(graph_key(candidate.applied.graph)).second;
  }

  std::optional<Candidate> with(const Candidate& before, const LegalStep& legal) const {
    if (legal.exactness == Exactness::reassociates && !options_.allow_reassociation) return {};
    Candidate after{before.steps, apply(before.applied, legal.step)};
    after.steps.push_back(legal.step);
    return after;
  }

  bool price(Candidate& candidate) const {
    try {
      candidate.predicted_us = predict_(candidate.applied.graph);
      return true;
    } catch (const UserError&) {
      return false;  // no plan has it at these sizes
    }
  }

  void add(Candidate candidate) {
    if (!price(candidate)) return;
    best_ = std::min(best_, candidate.predicted_us);
    out_.candidates.push_back(std::move(candidate));
  }

  // --- 1. Communication ---

  std::vector<State> communication_rounds() {
    std::vector<State> all{{start_, ""}}, last = all;
    is_new(start_);
    for (int round = 0; round < kMostRounds && !last.empty() && !spent(); ++round) {
      std::vector<State> next;
      for (const State& state : last) {
        for (State& made : moved(state)) {
          if (is_new(made.candidate) && price(made.candidate)) {
            best_ = std::min(best_, made.candidate.predicted_us);
            next.push_back(std::move(made));
          }
          if (spent()) break;
        }
      }
      last = options_.exhaustive ? std::move(next) : cheapest(std::move(next));
      all.insert(all.end(), last.begin(), last.end());
    }
    std::ranges::stable_sort(all, {},
                             [](const State& state) { return state.candidate.predicted_us; });
    return all;
  }

  std::vector<State> cheapest(std::vector<State> states) {
    std::ranges::stable_sort(states, {},
                             [](const State& state) { return state.candidate.predicted_us; });
    std::map<std::string, std::size_t> of_kind;
    const std::size_t before = states.size();
    std::erase_if(states, [&](const State& state) {
      return ++of_kind[state.kind] > kOfAllSlices ||
             state.candidate.predicted_us > kWorthFollowing * best_;
    });
    if (states.size() > kFollowed) states.resize(kFollowed);
    out_.pruned += before - states.size();
    return states;
  }

  // One split, alone and with reorders of its gather; one distribute with reorders of its gather;
  // reorders of the program's own gathers.
  std::vector<State> moved(const State& state) const {
    std::vector<State> out;
    for (const LegalStep& legal :
         legal_steps(state.candidate.applied, {StepKind::split, StepKind::distribute})) {
      const bool split = legal.step.verb == "split";
      if (!split && !is_early(state.candidate, legal.step)) continue;
      if (!options_.allow_reassociation && is_like_no_slice(state.candidate, legal.step)) continue;
      std::optional<Candidate> after = with(state.candidate, legal);
      if (!after) continue;
      const std::string kind = state.kind + without_slices(legal.step) + ";";
      add_reorders(*after, legal.step.results.back(), kind, out);
      if (split) out.push_back({std::move(*after), kind});
    }
    add_own_reorders(state, out);
    return out;
  }

  // A slice of a value of one dim, which without one is cut along it as well, and in blocks that
  // keep the order of sums.
  static bool is_like_no_slice(const Candidate& candidate, const Step& step) {
    const auto is_slice = [](const auto& x) { return std::holds_alternative<Slice>(x); };
    const Graph& graph = candidate.applied.graph;
    return graph.node(graph.find(names_in(step.arguments[0])[0])).type.rank() <= 1 &&
           std::ranges::any_of(step.arguments, is_slice);
  }

  // A distribute of a value that other ranks' values, or inputs alone, make: what follows from it
  // moves with it, so a later one has less to gain.
  static bool is_early(const Candidate& candidate, const Step& step) {
    const Graph& graph = candidate.applied.graph;
    const NodeId id = graph.find(*names_of(step).begin());
    if (!id.valid() || op_as<Input>(graph, id)) return false;
    if (is_communication(graph.node(id).op)) return true;
    const NodeSet needed = dependencies(graph, set_of(graph, {id}));
    return std::ranges::none_of(list_of(needed), [&](NodeId other) {
      return other != id && !graph.node(other).name.empty() && !op_as<Input>(graph, other);
    });
  }

  // Of the gather, alone and with others: past all that can move; if that is beyond other
  // communication, up to there too.
  void add_reorders(const Candidate& before, const std::string& gather, const std::string& kind,
                    std::vector<State>& out) const {
    bool beyond = false;
    for (const LegalStep& legal : legal_steps(before.applied, {StepKind::reorder_most})) {
      if (std::ranges::count(names_in(legal.step.arguments[0]), gather) == 0) continue;
      beyond = beyond || moves_communication(before, legal.step);
      add_after(before, legal, kind, out);
    }
    if (!beyond) return;
    std::optional<LegalStep> largest;
    const auto moved = [](const LegalStep& legal) {
      return names_in(legal.step.arguments[1]).size();
    };
    for (const LegalStep& legal : legal_steps(before.applied, {StepKind::reorder})) {
      if (names_in(legal.step.arguments[0]) != std::vector{gather}) continue;
      if (moves_communication(before, legal.step)) continue;
      if (!largest || moved(legal) > moved(*largest)) largest = legal;
    }
    if (largest) add_after(before, *largest, kind, out);
  }

  // Of the gathers that the program has itself.
  void add_own_reorders(const State& state, std::vector<State>& out) const {
    for (const LegalStep& legal : legal_steps(state.candidate.applied, {StepKind::reorder_most})) {
      const std::vector<std::string> gathers = names_in(legal.step.arguments[0]);
      const auto is_own = [&](const std::string& gather) {
        return start_.applied.graph.find(gather).valid();
      };
      if (std::ranges::all_of(gathers, is_own)) {
        add_after(state.candidate, legal, state.kind, out);
      }
    }
  }

  void add_after(const Candidate& before, const LegalStep& legal, const std::string& kind,
                 std::vector<State>& out) const {
    if (std::optional<Candidate> after = with(before, legal)) {
      out.push_back({std::move(*after), kind + "reorder;"});
    }
  }

  static bool moves_communication(const Candidate& before, const Step& step) {
    const Graph& graph = before.applied.graph;
    return std::ranges::any_of(names_in(step.arguments[1]), [&](const std::string& name) {
      return is_communication(graph.node(graph.find(name)).op);
    });
  }

  // --- 2. Storage ---

  void finish(const Candidate& candidate) {
    if (spent()) return;
    const Candidate whole = closed(candidate, {"dead"});
    const Candidate sliced = closed(closed(candidate, {"as_slice"}), {"dead"});
    for (const Candidate& stored : {whole, sliced}) {
      is_new(stored);
      if (!finished_.insert(graph_key(stored.applied.graph)).second) continue;
      fuse(stored);
    }
  }

  // With steps of these verbs as long as there are any.
  Candidate closed(Candidate candidate, const std::set<std::string>& verbs) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const LegalStep& legal : legal_steps(candidate.applied, {StepKind::storage})) {
        if (!verbs.contains(legal.step.verb)) continue;
        std::optional<Candidate> after = with(candidate, legal);
        if (!after) continue;
        candidate = std::move(*after);
        changed = true;
        break;
      }
    }
    return candidate;
  }

  // --- 3. Fuse ---

  void fuse(const Candidate& candidate) {
    if (spent()) return;
    const Candidate kernels = kernels_of(candidate);
    if (measured_.insert(graph_key(kernels.applied.graph)).second) {
      is_new(kernels);
      add(kernels);
      overlap(kernels);
    }
    if (measured_.insert(graph_key(candidate.applied.graph)).second && !candidate.steps.empty()) {
      overlap(candidate);
    }
    std::set<StepKind> kinds = {StepKind::fuse_communication};
    if (!has_body(candidate)) kinds.insert(StepKind::fuse_pair);
    for (const LegalStep& legal : legal_steps(candidate.applied, kinds)) {
      if (is_computation(candidate, legal.step)) continue;
      const std::optional<Candidate> after = with(candidate, legal);
      if (after && fused_.insert(graph_key(after->applied.graph)).second) {
        is_new(*after);
        fuse(*after);
      }
    }
  }

  static bool has_body(const Candidate& candidate) {
    return std::ranges::any_of(candidate.applied.handles, [](const auto& handle) {
      return handle.second.body && handle.second.gone.empty();
    });
  }

  // No operation that it fuses moves data between ranks.
  static bool is_computation(const Candidate& candidate, const Step& step) {
    const Graph& graph = candidate.applied.graph;
    for (const std::string& name : names_of(step)) {
      const auto handle = candidate.applied.handles.find(name);
      std::vector<NodeId> nodes{graph.find(name)};
      if (handle != candidate.applied.handles.end()) nodes = handle->second.nodes;
      for (const NodeId id : nodes) {
        if (id.valid() && is_communication(graph.node(id).op)) return false;
      }
    }
    return true;
  }

  // Computations that follow each other in as few kernels as are legal.
  Candidate kernels_of(Candidate candidate) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (LegalStep& legal : legal_steps(candidate.applied, {StepKind::fuse_computation})) {
        if (!is_computation(candidate, legal.step)) continue;
        legal.step.results = {result_name(candidate.applied, "kernel")};
        try {
          candidate = *with(candidate, legal);
          changed = true;
        } catch (const UserError&) {
          // Not legal any more after those before it in the list.
        }
      }
    }
    return candidate;
  }

  // --- 4. Overlap ---

  void overlap(const Candidate& candidate) {
    for (const LegalStep& legal : legal_steps(candidate.applied, {StepKind::overlap})) {
      if (spent()) return;
      const std::optional<Candidate> after = with(candidate, legal);
      if (!after) continue;
      const Candidate kernels = kernels_of(*after);
      if (!measured_.insert(graph_key(kernels.applied.graph)).second) continue;
      is_new(kernels);
      add(kernels);
    }
  }

  const Predict& predict_;
  const SearchOptions& options_;
  const Clock::time_point began_;
  Candidate start_;
  Search out_;
  std::size_t most_graphs_ = 0;
  std::set<std::uint64_t> seen_, finished_, fused_, measured_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::string without_slices(const Step& step) {
  Step out = step;
  std::erase_if(out.arguments, [](const StepArgument& argument) {
    return std::holds_alternative<Slice>(argument);
  });
  return text_of(out);
}

Search search(const Graph& graph, const Predict& predict, const SearchOptions& options) {
  return Searcher(graph, predict, options).run();
}

}  // namespace coconet::tune
