#include "coconet/graph/canonical.h"

#include <algorithm>
#include <set>

#include "coconet/graph/walk.h"

namespace coconet {
namespace {

// Orders *units*: a unit is a named node (its index) or a group (the number of nodes + its index);
// every group, and the graph itself, holds units.
class Sorter {
 public:
  explicit Sorter(const Graph& graph)
      : graph_(graph),
        n_(graph.size()),
        groups_(static_cast<int>(graph.groups().size())),
        anchor_(n_, -1),
        parent_(n_ + groups_, -1),
        key_(n_ + groups_, 2 * n_),
        after_(n_ + groups_),
        before_(n_ + groups_, 0),
        units_in_(n_ + groups_ + 1),
        to_(n_) {
    find_anchors();
    find_parents();
    find_units();
    for (int i = 0; i < n_; ++i) {
      for (NodeId input : graph.node({i}).inputs) add_edge(anchor_[input.index], anchor_[i]);
    }
    const std::vector<std::vector<NodeId>> readers = readers_of(graph);
    for (int i = 0; i < n_; ++i) {
      if (!std::holds_alternative<Update>(graph.node({i}).op)) continue;
      for (NodeId reader : readers[graph.node({i}).inputs[0].index]) {
        if (reader.index != i) add_edge(anchor_[reader.index], anchor_[i]);
      }
    }
  }

  CanonicalOrder sorted() {
    emit_units(-1);
    return std::move(order_);
  }

 private:
  // The named node that contains each node; -1 if none does.
  void find_anchors() {
    for (int i = n_ - 1; i >= 0; --i) {
      const Node& node = graph_.node({i});
      if (!node.name.empty()) anchor_[i] = i;
      if (anchor_[i] < 0) continue;
      for (NodeId input : node.inputs) {
        const Node& operand = graph_.node(input);
        if (operand.name.empty() && !is_literal(operand.op)) anchor_[input.index] = anchor_[i];
      }
    }
  }

  // The units that each container holds: what has no anchor is in none.
  void find_units() {
    for (int unit = 0; unit < n_ + groups_; ++unit) {
      if (unit >= n_ || anchor_[unit] == unit) units_in_[parent_[unit] + 1].push_back(unit);
    }
  }

  // parent_[unit]: the unit of the group that holds it; -1: the graph does.
  void find_parents() {
    for (int g = 0; g < groups_; ++g) {
      for (NodeId id : graph_.group({g}).nodes) {
        if (!graph_.node(id).name.empty()) parent_[id.index] = n_ + g;
      }
      for (GroupId member : graph_.group({g}).groups) parent_[n_ + member.index] = n_ + g;
    }
    for (int i = 0; i < n_; ++i) {
      if (anchor_[i] != i) continue;
      key_[i] = std::holds_alternative<Input>(graph_.node({i}).op) ? i : n_ + i;
      for (int unit = parent_[i]; unit >= 0; unit = parent_[unit]) {
        key_[unit] = std::min(key_[unit], key_[i]);
      }
    }
  }

  std::vector<int> chain(int unit) const {
    std::vector<int> out;
    for (; unit >= 0; unit = parent_[unit]) out.push_back(unit);
    std::reverse(out.begin(), out.end());
    return out;
  }

  // Orders the units that hold the two nodes inside the innermost container of both.
  void add_edge(int from, int to) {
    if (from < 0 || to < 0 || from == to) return;
    const std::vector<int> a = chain(from);
    const std::vector<int> b = chain(to);
    std::size_t depth = 0;
    while (a[depth] == b[depth]) ++depth;
    after_[a[depth]].push_back(b[depth]);
    ++before_[b[depth]];
  }

  void emit_units(int container) {
    const std::vector<int>& units = units_in_[container + 1];
    std::set<std::pair<int, int>> ready;  // by key
    for (int unit : units) {
      if (before_[unit] == 0) ready.insert({key_[unit], unit});
    }
    std::size_t emitted = 0;
    while (!ready.empty()) {
      const int unit = ready.begin()->second;
      ready.erase(ready.begin());
      ++emitted;
      if (unit < n_) {
        emit_node({unit});
      } else {
        emit_group(unit);
      }
      for (int next : after_[unit]) {
        if (--before_[next] == 0) ready.insert({key_[next], next});
      }
    }
    if (emitted < units.size() && groups_ == 0) refuse_updates();
    check(emitted == units.size(), "groups have no cycle");
  }

  // Without groups only updates order what does not read each other.
  [[noreturn]] void refuse_updates() const {
    std::string names;
    Where where;
    for (int i = 0; i < n_; ++i) {
      if (before_[i] == 0 || !std::holds_alternative<Update>(graph_.node({i}).op)) continue;
      names += (names.empty() ? "" : ", ") + graph_.label({i});
      if (!where.known()) where = graph_.node({i}).where;
    }
    throw UserError(ErrorKind::type,
                    "each of " + names +
                        " overwrites storage whose old value another of them reads, so none can "
                        "come first; give a name to what one of them computes (t = ..., then "
                        "update(p, t)), so that it is computed before",
                    where);
  }

  void emit_group(int unit) {
    const int begin = static_cast<int>(order_.nodes.size());
    emit_units(unit);
    const GroupId group{unit - n_};
    std::vector<NodeId> nodes;
    for (int i = begin; i < static_cast<int>(order_.nodes.size()); ++i) {
      const int anchor = place_anchor_[i];
      if (parent_[anchor] == unit) nodes.push_back({i});
    }
    order_.groups.push_back({group, std::move(nodes)});
  }

  // With the unnamed values that it is made of, before it: without recursion, as programs may be
  // deep.
  void emit_node(NodeId root) {
    struct Open {
      NodeId id;
      int outer;  // the anchor around it
      std::vector<NodeId> inputs;
    };
    std::vector<Open> open;
    const auto enter = [&](NodeId id) {
      open.push_back({id, current_anchor_, {}});
      if (anchor_[id.index] == id.index) current_anchor_ = id.index;
    };
    enter(root);
    while (!open.empty()) {
      Open& top = open.back();
      const std::vector<NodeId>& inputs = graph_.node(top.id).inputs;
      if (top.inputs.size() < inputs.size()) {
        const NodeId input = inputs[top.inputs.size()];
        if (graph_.node(input).name.empty()) {
          enter(input);
        } else {
          top.inputs.push_back(to_[input.index]);
        }
        continue;
      }
      place_anchor_.push_back(current_anchor_);
      current_anchor_ = top.outer;
      const NodeId place{static_cast<int>(order_.nodes.size())};
      to_[top.id.index] = place;
      order_.nodes.push_back({top.id, std::move(top.inputs)});
      open.pop_back();
      if (!open.empty()) open.back().inputs.push_back(place);
    }
  }

  const Graph& graph_;
  const int n_;
  const int groups_;
  std::vector<int> anchor_;
  std::vector<int> parent_;
  std::vector<int> key_;
  std::vector<std::vector<int>> after_;
  std::vector<int> before_;
  std::vector<std::vector<int>> units_in_;  // by 1 + the container; 0: the graph
  std::vector<NodeId> to_;
  int current_anchor_ = -1;
  std::vector<int> place_anchor_;  // by place: the named node that contains it
  CanonicalOrder order_;
};

}  // namespace

CanonicalOrder canonical_order(const Graph& graph) { return Sorter(graph).sorted(); }

}  // namespace coconet
