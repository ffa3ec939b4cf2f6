#include "coconet/schedule/overlap_chains.h"

#include <algorithm>
#include <set>
#include <utility>

#include "coconet/graph/walk.h"
#include "coconet/schedule/overlap.h"
#include "coconet/schedule/region.h"

namespace coconet {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kLongest = 4;

class Chains {
 public:
  explicit Chains(const Graph& graph) : graph_(graph), readers_(readers_of(graph)) {
    for (int i = 0; i < graph_.size(); ++i) {
      if (!graph_.node({i}).name.empty()) named_.push_back({i});
    }
  }

  std::vector<Names> chains() const {
    std::vector<Names> out;
    const std::vector<Unit> all = units();
    const std::vector<std::set<std::size_t>> readers = readers_of_units(all);
    std::vector<std::vector<std::size_t>> next(all.size());
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b : readers[a]) {
        const auto verdict = match_overlap(graph_, {all[a].second, all[b].second});
        if (std::holds_alternative<OverlapMatch>(verdict)) next[a].push_back(b);
      }
    }
    std::vector<std::vector<std::size_t>> chains;
    for (std::size_t a = 0; a < all.size(); ++a) chains.push_back({a});
    for (std::size_t length = 2; length <= kLongest; ++length) {
      std::vector<std::vector<std::size_t>> longer;
      for (const std::vector<std::size_t>& chain : chains) {
        for (std::size_t b : next[chain.back()]) {
          longer.push_back(chain);
          longer.back().push_back(b);
          if (sends(all, longer.back())) out.push_back(names(all, longer.back()));
        }
      }
      chains = std::move(longer);
    }
    return out;
  }

 private:
  using Unit = std::pair<std::string, OverlapMember>;

  // What runs by itself: a group that is in no other, a named value that is in no group.
  std::vector<Unit> units() const {
    std::vector<Unit> out;
    for (int g = 0; g < static_cast<int>(graph_.groups().size()); ++g) {
      const bool inside = group_of(graph_, GroupId{g}).valid();
      if (!inside && graph_.group({g}).kind == GroupKind::fused) {
        out.push_back({graph_.group({g}).name, {{}, GroupId{g}}});
      }
    }
    for (NodeId id : named_) {
      if (op_as<Input>(graph_, id) || outermost_group(graph_, id).valid()) continue;
      out.push_back({name(id), {id, {}}});
    }
    return out;
  }

  NodeSet nodes_of_unit(const Unit& unit) const {
    const OverlapMember& member = unit.second;
    if (member.group.valid()) return nodes_of(graph_, member.group);
    return with_subexpressions(graph_, {member.node});
  }

  // By node: the unit that holds it; all.size() if none does.
  std::vector<std::size_t> units_by_node(const std::vector<Unit>& all) const {
    std::vector<std::size_t> out(graph_.size(), all.size());
    for (std::size_t unit = 0; unit < all.size(); ++unit) {
      for (NodeId id : list_of(nodes_of_unit(all[unit]))) out[id.index] = unit;
    }
    return out;
  }

  // By unit: those that read a value of it, ascending.
  std::vector<std::set<std::size_t>> readers_of_units(const std::vector<Unit>& all) const {
    const std::vector<std::size_t> unit_of = units_by_node(all);
    std::vector<std::set<std::size_t>> out(all.size());
    for (int i = 0; i < graph_.size(); ++i) {
      for (NodeId reader : readers_[i]) {
        const std::size_t from = unit_of[i], to = unit_of[reader.index];
        if (from != to && from < all.size() && to < all.size()) out[from].insert(to);
      }
    }
    return out;
  }

  static Names names(const std::vector<Unit>& units, const std::vector<std::size_t>& chain) {
    Names out;
    for (std::size_t unit : chain) out.push_back(units[unit].first);
    return out;
  }

  bool sends(const std::vector<Unit>& units, const std::vector<std::size_t>& chain) const {
    return std::ranges::any_of(chain,
                               [&](std::size_t unit) { return communicates(units[unit].second); });
  }

  bool communicates(const OverlapMember& member) const {
    if (member.node.valid()) return is_communication(graph_.node(member.node).op);
    const std::vector<NodeId> nodes = list_of(nodes_of(graph_, member.group));
    return std::ranges::any_of(nodes,
                               [this](NodeId id) { return is_communication(graph_.node(id).op); });
  }

  const std::string& name(NodeId id) const { return graph_.node(id).name; }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> readers_;
  std::vector<NodeId> named_;
};

}  // namespace

std::vector<Names> overlap_chains(const Graph& graph) { return Chains(graph).chains(); }

}  // namespace coconet
