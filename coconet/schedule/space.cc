#include "coconet/schedule/space.h"

#include <algorithm>
#include <utility>

#include "coconet/type/list.h"

namespace coconet {

Space::Space(const Graph& graph, const TensorType& type, const NodeSet& members)
    : Space(graph, type) {
  for (NodeId id : list_of(members)) {
    const Node& node = graph.node(id);
    if (!node.type.is_scalar_list() || is_view(node.op)) continue;
    of_members_ = node.type.layout;
    return;
  }
}

std::string Space::text() const {
  const std::string layout = type_.layout.text(graph_.mesh());
  return text_of(type_.shape) + (layout.empty() ? "" : " " + layout);
}

bool Space::is_same(const TensorType& type) const {
  return type.shape == type_.shape && type.layout == type_.layout;
}

bool Space::masks_otherwise(const Node& node) const {
  return std::holds_alternative<Dropout>(node.op) && !node.type.is_scalar() &&
         node.type.shape != type_.shape;
}

bool Space::is_broadcast(const TensorType& type) const {
  const int shift = type_.rank() - type.rank();
  if (shift < 0) return false;
  for (int d = 0; d < type.rank(); ++d) {
    if (!type.shape[d].is_one() && !(type.shape[d] == type_.shape[d + shift])) return false;
  }
  for (int axis = 0; axis < type.layout.axes(); ++axis) {
    if (type.layout.is<Replicated>(axis)) continue;
    if (!type.layout.is<Sliced>(axis) || !type_.layout.is<Sliced>(axis)) return false;
    const Slice& slice = type.layout.slice(axis);
    const Slice& whole = type_.layout.slice(axis);
    if (slice.flat != whole.flat || (slice.flat && type.shape != type_.shape)) return false;
    if (!slice.flat && (slice.first + shift != whole.first || slice.last + shift != whole.last)) {
      return false;
    }
  }
  return true;
}

bool Space::is_of_members(const TensorType& type) const {
  if (!type.is_scalar_list() || !type_.is_list()) return false;
  if (list_index(type.shape[0]) != list_index(type_.shape[0])) return false;
  if (type_.is_scalar_list()) return type.layout == type_.layout;
  return !of_members_ || type.layout == *of_members_;
}

bool is_gather_of_blocks(const Graph& graph, NodeId id) {
  return op_as<AllGather>(graph, id) && op_as<BlockReduce>(graph, graph.node(id).inputs[0]);
}

namespace {

std::optional<TensorType> largest_type(const Graph& graph, const NodeSet& set) {
  const auto size = [](const TensorType& type) {
    const auto ones = std::count_if(type.shape.begin(), type.shape.end(),
                                    [](const Dim& dim) { return dim.is_one(); });
    if (type.is_scalar_list()) return std::pair<long, long>(type.rank(), 0);
    return std::pair<long, long>(type.rank(), type.rank() - ones);
  };
  std::optional<TensorType> best;
  const auto consider = [&](const TensorType& type) {
    if (!type.is_scalar() && (!best || size(*best) < size(type))) best = type;
  };
  for (NodeId id : list_of(set)) {
    const Node& node = graph.node(id);
    if (std::holds_alternative<Reduce>(node.op)) consider(graph.node(node.inputs[0]).type);
    consider(node.type);
  }
  return best;
}

}  // namespace

std::optional<TensorType> space_of_fused(const Graph& graph, const NodeSet& members) {
  NodeId gathered, sent;
  for (NodeId id : list_of(members)) {
    const Node& node = graph.node(id);
    if (std::holds_alternative<ReduceScatter>(node.op)) return node.type;
    const bool gather = std::holds_alternative<AllGather>(node.op);
    if (gather && !gathered.valid() && !is_gather_of_blocks(graph, id)) gathered = node.inputs[0];
    if (is_send(node.op) && !sent.valid()) sent = node.inputs[0];
  }
  if (!gathered.valid()) gathered = sent;
  return gathered.valid() ? graph.node(gathered).type : largest_type(graph, members);
}

}  // namespace coconet
