#include "tests/property/random_schedule.h"

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/graph/walk.h"
#include "coconet/schedule/candidates.h"

namespace coconet::property {
namespace {

using Names = std::vector<std::string>;

// Proposes steps on what there is.
class Proposer {
 public:
  Proposer(Random& random, const Applied& before) : random_(random), graph_(before.graph) {
    for (const auto& [name, handle] : before.handles) {
      if (handle.body && handle.gone.empty()) bodies_.push_back(name);
    }
    for (const Group& group : graph_.groups()) groups_.push_back(group.name);
  }

  // Rather what schedules are made of: what follows a gather moved, states sliced, gathers dropped,
  // the collective fused.
  std::optional<Step> propose() {
    if (!bodies_.empty() && random_.chance(50)) {
      const int kind = random_.below(5);
      return kind == 0 ? as_slice() : kind == 1 ? dead() : kind == 2 ? overlap() : fuse();
    }
    if (bodies_.empty() && random_.chance(40)) return reorder();
    switch (random_.below(12)) {
      case 0:
      case 1: return split();
      case 2:
      case 3:
      case 4: return reorder();
      case 5:
      case 6:
      case 7: return fuse();
      case 8: return overlap();
      case 9: return as_slice();
      case 10: return dead();
      default: return random_.chance(30) ? distribute() : split();
    }
  }

 private:
  template <class Kind>
  Names named() const {
    Names out;
    for (const Node& node : graph_.nodes()) {
      if (!node.name.empty() && std::holds_alternative<Kind>(node.op)) out.push_back(node.name);
    }
    return out;
  }

  std::optional<Slice> slice() {
    if (random_.chance(50)) return std::nullopt;
    if (random_.chance(30)) return Slice::all();
    return random_.chance(30) ? Slice::range(0, 1) : Slice::dim(random_.below(3));
  }

  std::optional<Step> split() {
    const Names reduces = named<AllReduce>();
    if (reduces.empty()) return std::nullopt;
    Step step{"split", {random_.pick(reduces)}, {}, {}};
    const int kind = random_.below(10);
    if (kind == 0) {
      step.arguments.push_back(std::string("reduce_broadcast"));
    } else if (kind == 1) {
      step.arguments.push_back(std::string("hierarchical"));
    } else if (const auto cut = slice()) {
      step.arguments.push_back(*cut);
    }
    return step;
  }

  // Named nodes that depend on the node, some of them.
  Names followers(NodeId id) {
    NodeSet from = none_of(graph_);
    from[id.index] = true;
    Names out;
    const bool all = random_.chance(60);
    const int limit = 1 + random_.below(5);
    for (NodeId after : list_of(dependents(graph_, from))) {
      const Node& node = graph_.node(after);
      if (after == id || node.name.empty()) continue;
      if (!all && static_cast<int>(out.size()) >= limit) break;
      if (all || random_.chance(90)) out.push_back(node.name);
    }
    return out;
  }

  std::optional<Step> reorder() {
    Names gathers = named<AllGather>();
    for (const std::string& name : named<Broadcast>()) gathers.push_back(name);
    if (gathers.empty()) return std::nullopt;
    const std::string gather = random_.pick(gathers);
    const Names after = followers(graph_.find(gather));
    if (after.empty()) return std::nullopt;
    Step step{"reorder", {gather}, {}, {}};
    if (random_.chance(20) && gathers.size() > 1) {
      step.arguments[0] = Names{gather, random_.pick(gathers)};
    }
    step.arguments.push_back(after);
    return step;
  }

  std::optional<Step> fuse() {
    Step step{"fuse", {}, {}, {}};
    const Names scatters = named<ReduceScatter>(), gathers = named<AllGather>();
    if (random_.chance(60) && (!scatters.empty() || !gathers.empty())) {
      if (!scatters.empty() && random_.chance(85)) step.arguments.push_back(random_.pick(scatters));
      if (!bodies_.empty() && random_.chance(90)) step.arguments.push_back(random_.pick(bodies_));
      for (const std::string& gather : gathers) {
        if (random_.chance(60)) step.arguments.push_back(gather);
      }
      for (const Names& sends : {named<Shift>(), named<AllToAll>()}) {
        for (const std::string& send : sends) {
          if (random_.chance(30)) step.arguments.push_back(send);
        }
      }
      return step;
    }
    Names some;
    for (const Node& node : graph_.nodes()) {
      if (!node.name.empty() && !std::holds_alternative<Input>(node.op)) some.push_back(node.name);
    }
    if (some.empty()) return std::nullopt;
    const int first = random_.below(static_cast<int>(some.size()));
    const int count = 2 + random_.below(4);
    for (int i = first; i < std::min(first + count, static_cast<int>(some.size())); ++i) {
      step.arguments.push_back(some[i]);
    }
    return step;
  }

  std::optional<Step> overlap() {
    Names producers = named<Matmul>();
    for (const Node& node : graph_.nodes()) {
      if (!node.name.empty() && std::holds_alternative<Pointwise>(node.op)) {
        producers.push_back(node.name);
      }
    }
    if (producers.empty()) return std::nullopt;
    Step step{"overlap", {random_.pick(producers)}, {}, {}};
    if (!groups_.empty() && random_.chance(80)) {
      step.arguments.push_back(random_.pick(groups_));
      return step;
    }
    for (const std::string& name :
         followers(graph_.find(std::get<std::string>(step.arguments[0])))) {
      if (step.arguments.size() < 3) step.arguments.push_back(name);
    }
    return step;
  }

  std::optional<Step> as_slice() {
    Names states;
    for (const Node& node : graph_.nodes()) {
      const Input* input = std::get_if<Input>(&node.op);
      if (input && input->kind == InputKind::state) states.push_back(node.name);
    }
    if (states.empty()) return std::nullopt;
    return Step{random_.chance(85) ? "as_slice" : "as_rooted", {random_.pick(states)}, {}, {}};
  }

  std::optional<Step> dead() {
    const Names gathers = named<AllGather>();
    if (gathers.empty()) return std::nullopt;
    return Step{"dead", {random_.pick(gathers)}, {}, {}};
  }

  std::optional<Step> distribute() {
    Names values;
    for (const Node& node : graph_.nodes()) {
      if (!node.name.empty()) values.push_back(node.name);
    }
    Step step{"distribute", {random_.pick(values)}, {}, {}};
    if (const auto cut = slice()) step.arguments.push_back(*cut);
    return step;
  }

  Random& random_;
  const Graph& graph_;
  Names bodies_, groups_;
};

Stepped stepped(const Applied& before, const Step& step) {
  try {
    return {step, apply(before, step)};
  } catch (const UserError&) {
    throw;
  } catch (const std::exception&) {
    return {step, std::nullopt};
  }
}

// A body has a name only if the results are named, all of them. The refusal of one name ends with
// how many there are, in brackets.
std::optional<Stepped> named_reorder(const Applied& before, Step step, int number) {
  std::size_t results = 1;
  for (int tries = 0; tries < 2; ++tries) {
    step.results.clear();
    for (std::size_t r = 0; r < results; ++r) {
      step.results.push_back("s" + std::to_string(number) + "_" + std::to_string(r));
    }
    try {
      return stepped(before, step);
    } catch (const UserError& error) {
      const std::string& message = error.message();
      if (message.find(" result name") == std::string::npos) return std::nullopt;
      results = std::stoul(message.substr(message.find(" returns ") + 9));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Stepped> random_step(Random& random, const Applied& before, int number) {
  if (random.chance(8)) {
    std::vector<LegalStep> legal;
    try {
      legal = legal_steps(before);
    } catch (const std::exception&) {
      return Stepped{{kCandidates, {}, {}, {}}, std::nullopt};
    }
    if (legal.empty()) return std::nullopt;
    Step step = random.pick(legal).step;
    return stepped(before, step);
  }
  Proposer proposer(random, before);
  for (int tries = 0; tries < 24; ++tries) {
    const std::optional<Step> step = proposer.propose();
    if (!step) continue;
    if (step->verb == "reorder") {
      if (auto named = named_reorder(before, *step, number)) return named;
      continue;
    }
    try {
      return stepped(before, *step);
    } catch (const UserError&) {
    }
  }
  return std::nullopt;
}

}  // namespace coconet::property
