#include "coconet/schedule/phases.h"

#include <algorithm>
#include <unordered_set>

namespace coconet {

bool is_tensor_wide(const Op& op) {
  if (const Reduce* reduce = std::get_if<Reduce>(&op)) return reduce->dims.empty();
  return std::holds_alternative<Norm>(op);
}

namespace {

bool folds_buffer(const Op& op) {
  return std::holds_alternative<FoldBlocks>(op) || std::holds_alternative<Across>(op);
}

bool is_elementwise(const Op& op) {
  return std::holds_alternative<Pointwise>(op) || std::holds_alternative<Cast>(op);
}

// Elementwise work on values from outside of the group moves to the phase of its first reader: what
// an earlier kernel makes of them would be stored and loaded once more.
class Sinking {
 public:
  Sinking(const Graph& graph, const std::vector<NodeId>& members, Phases& phases)
      : graph_(graph), members_(members), phases_(phases), readers_(readers_of(graph)) {}

  void sink() {
    for (const NodeId id : members_) {
      if (is_of_outside(id)) of_outside_.insert(id.index);
    }
    for (auto id = members_.rbegin(); id != members_.rend(); ++id) {
      if (!of_outside_.contains(id->index)) continue;
      const int first = first_read(*id);
      if (first > phases_.of(*id) && !is_changed_before(*id, first)) {
        phases_.by_node[id->index] = first;
      }
    }
  }

 private:
  bool is_of_outside(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!is_elementwise(node.op) || node.type.is_scalar() || is_output(graph_, id)) return false;
    return std::ranges::all_of(node.inputs, [&](NodeId input) {
      const bool outside = !phases_.has(base_of(graph_, input));
      return outside || of_outside_.contains(input.index) || graph_.node(input).type.is_scalar();
    });
  }

  // The phase that reads the value first; -1: it is read outside of the group.
  int first_read(NodeId id) const {
    int first = phases_.count;
    for (const NodeId reader : readers_[id.index]) {
      if (!phases_.has(reader)) return -1;
      // What is folded stands in memory, so an earlier phase makes it.
      const int stored = folds_buffer(graph_.node(reader).op) ? 1 : 0;
      first = std::min(first, phase_of_reads(graph_, phases_, reader) - stored);
    }
    return first == phases_.count ? -1 : first;
  }

  // A phase before `phase` writes what the node reads.
  bool is_changed_before(NodeId id, int phase) const {
    return std::ranges::any_of(members_, [&](NodeId other) {
      if (!std::holds_alternative<Update>(graph_.node(other).op)) return false;
      const NodeId storage = base_of(graph_, graph_.node(other).inputs[0]);
      return phases_.of(other) < phase &&
             std::ranges::any_of(graph_.node(id).inputs,
                                 [&](NodeId input) { return base_of(graph_, input) == storage; });
    });
  }

  const Graph& graph_;
  const std::vector<NodeId>& members_;
  Phases& phases_;
  const std::vector<std::vector<NodeId>> readers_;
  std::unordered_set<int> of_outside_;
};

}  // namespace

Phases phases_of(const Graph& graph, const std::vector<NodeId>& members) {
  Phases phases;
  for (NodeId id : members) {
    const Node& node = graph.node(id);
    int phase = 0;
    for (NodeId input : node.inputs) {
      phase = std::max({phase, phases.of(base_of(graph, input)), phases.of(input)});
    }
    const bool folds = folds_buffer(node.op) ? phases.has(base_of(graph, node.inputs[0]))
                                             : is_tensor_wide(node.op);
    phase += folds ? 1 : 0;
    phases.by_node[id.index] = phase;
    phases.count = std::max(phases.count, phase + 1);
  }
  if (phases.count > 1) Sinking(graph, members, phases).sink();
  return phases;
}

int phase_of_reads(const Graph& graph, const Phases& phases, NodeId id) {
  return phases.of(id) - (is_tensor_wide(graph.node(id).op) ? 1 : 0);
}

bool folds_own_buffer(const Node& node, const AxisList& axes) {
  return folds_buffer(node.op) && std::ranges::any_of(axes, [&](int axis) {
           return node.type.layout.is<Local>(axis) || node.type.layout.is<Partial>(axis);
         });
}

bool is_stored_over(const TensorType& space, const TensorType& type) {
  if (type.is_scalar()) {
    // A kernel does nothing on ranks that hold none of its space.
    return std::ranges::all_of(space.layout.axes_that_are<Rooted>(), [&](int axis) {
      return type.layout.at(axis) == space.layout.at(axis);
    });
  }
  if (!(type.layout == space.layout)) return false;
  if (type.shape == space.shape) return true;
  // Slices (*) of other shapes are cut at other places.
  for (int axis : space.layout.slice_order()) {
    if (space.layout.slice(axis).flat) return false;
  }
  Shape row = space.shape;
  if (!row.empty()) row.back() = Dim(1);
  return type.shape == row;
}

namespace {

class RowSearch {
 public:
  RowSearch(const Graph& graph, const NodeSet& members, const Phases& phases, int phase,
            const TensorType& space)
      : graph_(graph),
        members_(members),
        phases_(phases),
        phase_(phase),
        space_(space),
        seen_(none_of(graph)) {}

  // Follows what the kernel computes, up to what it loads.
  NodeId find(NodeId id) {
    const NodeId base = base_of(graph_, id);
    if (seen_[base.index]) return {};
    seen_[base.index] = true;
    const Node& node = graph_.node(base);
    if (node.type.is_scalar_list() && space_.is_list()) return {};  // read once a block
    if (!computes(base) || folds_buffer(node.op)) {
      const bool other = !node.type.is_scalar() && node.type.shape != space_.shape;
      return other ? base : NodeId{};
    }
    const bool rows = std::holds_alternative<Reduce>(node.op) || works_on_rows(node.op);
    if (rows) return base;
    for (NodeId input : node.inputs) {
      const NodeId found = find(input);
      if (found.valid()) return found;
    }
    return {};
  }

 private:
  bool computes(NodeId base) const {
    if (!members_[base.index] || phases_.of(base) > phase_) return false;
    const TensorType& type = graph_.node(base).type;
    return phases_.of(base) == phase_ || type.is_scalar() || !is_stored_over(space_, type);
  }

  const Graph& graph_;
  const NodeSet& members_;
  const Phases& phases_;
  int phase_;
  const TensorType& space_;
  NodeSet seen_;
};

}  // namespace

NodeId row_wise_in(const Graph& graph, const NodeSet& members, const Phases& phases, int phase,
                   const TensorType& space) {
  RowSearch search(graph, members, phases, phase, space);
  for (NodeId id : list_of(members)) {
    if (phases.of(id) != phase) continue;
    const NodeId found = search.find(id);
    if (found.valid()) return found;
  }
  return {};
}

}  // namespace coconet
