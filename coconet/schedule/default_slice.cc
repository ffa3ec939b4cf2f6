#include "coconet/schedule/default_slice.h"

#include <algorithm>
#include <optional>

#include "coconet/graph/infer.h"
#include "coconet/schedule/region.h"

namespace coconet {
namespace {

bool is_elementwise(const Op& op) {
  return std::holds_alternative<Pointwise>(op) || std::holds_alternative<Cast>(op) ||
         std::holds_alternative<Dropout>(op) || std::holds_alternative<Update>(op);
}

// How many leading dims a product makes the value by: all but the last of a matmul, the first of a
// conv2d; none if no product makes it, through pointwise operations.
std::optional<int> rows_of_product(const Graph& graph, NodeId value) {
  const Shape& shape = graph.node(value).type.shape;
  NodeSet made = set_of(graph, {value});
  for (int i = value.index; i >= 0; --i) {
    const Node& node = graph.node({i});
    if (!made[i] || !(node.type.shape == shape)) continue;
    if (std::holds_alternative<Matmul>(node.op)) return node.type.rank() - 1;
    if (std::holds_alternative<Conv2d>(node.op)) return 1;
    const bool through = is_elementwise(node.op) || std::holds_alternative<AllReduce>(node.op) ||
                         std::holds_alternative<AsPartial>(node.op);
    if (!through) continue;
    for (NodeId input : node.inputs) made[input.index] = true;
  }
  return std::nullopt;
}

// The first dim that a row reduction after the value reduces.
std::optional<int> reduced_from(const Graph& graph, NodeId value) {
  const Node& start = graph.node(value);
  NodeSet follows = set_of(graph, {value});
  std::optional<int> first;
  for (int i = value.index + 1; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    for (NodeId input : node.inputs) {
      if (!follows[input.index]) continue;
      std::optional<int> from;
      if (const Reduce* reduce = std::get_if<Reduce>(&node.op)) {
        if (!reduce->dims.empty()) from = reduce->dims.front();
      }
      if (works_on_rows(node.op)) from = start.type.rank() - 1;
      if (from && (!first || *from < *first)) first = from;
      follows[i] = is_elementwise(node.op) || works_on_rows(node.op);
      follows[i] = follows[i] && node.type.shape == start.type.shape;
    }
  }
  return first;
}

Layout sliced_flat(Layout layout, const AxisList& axes) {
  for (int axis : axes) layout = layout.with(axis, Sliced{Slice::all()});
  return layout;
}

// What refuses to run on sliced(*), of all that follows the value up to the next collective.
std::optional<Refusal> refuse_flat(const Graph& graph, NodeId value, const AxisList& axes) {
  std::vector<TensorType> types;
  for (const Node& node : graph.nodes()) types.push_back(node.type);
  NodeSet changed = set_of(graph, {value});
  types[value.index].layout = sliced_flat(types[value.index].layout, axes);
  for (int i = value.index + 1; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    std::vector<TensorType> inputs;
    bool any = false;
    for (NodeId input : node.inputs) {
      inputs.push_back(types[input.index]);
      any = any || changed[input.index];
    }
    const Reduce* reduce = std::get_if<Reduce>(&node.op);
    const bool whole = std::holds_alternative<Norm>(node.op) || (reduce && reduce->dims.empty());
    const bool free = std::holds_alternative<Shard>(node.op) || is_communication(node.op);
    if (!any || whole || free) continue;
    changed[i] = true;
    if (std::holds_alternative<Update>(node.op)) {
      types[i] = inputs[1];
      continue;
    }
    try {
      types[i] = infer(node.op, inputs, graph.mesh(), graph.header().requirements);
    } catch (const UserError& error) {
      return Refusal{quoted(graph, NodeId{i}) +
                         " cannot follow on sliced(*), the slice where none is given: " +
                         error.message() + "; name a slice, as in (0)",
                     {i}};
    }
  }
  return std::nullopt;
}

}  // namespace

Verdict<Slice> default_slice(const Graph& graph, NodeId value, const AxisList& axes) {
  const TensorType& type = graph.node(value).type;
  if (type.is_list()) return Slice::all();
  std::optional<int> rows = reduced_from(graph, value);
  if (const auto product = rows_of_product(graph, value)) {
    rows = std::min(rows.value_or(*product), *product);
  }
  int first = 0;
  int last = rows.value_or(0) - 1;
  while (first <= last && type.shape[first].is_one()) ++first;
  while (first <= last && type.shape[last].is_one()) --last;
  if (first <= last) return Slice::range(first, last);
  if (auto refusal = refuse_flat(graph, value, axes)) return *refusal;
  return Slice::all();
}

}  // namespace coconet
