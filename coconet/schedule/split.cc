#include "coconet/schedule/split.h"

#include "coconet/graph/infer.h"
#include "coconet/schedule/default_slice.h"
#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/region.h"

namespace coconet {
namespace {

// Why `id` is no all_reduce that a split may take.
std::optional<Refusal> refuse_other(const Graph& graph, NodeId id) {
  if (op_as<AllReduce>(graph, id)) return refuse_grouped(graph, {id});
  std::string reason =
      quoted(graph, id) + " is " + std::string(name_of(graph.node(id).op)) + ", not an all_reduce";
  for (NodeId part : list_of(with_subexpressions(graph, {id}))) {
    if (op_as<AllReduce>(graph, part)) {
      reason += "; the all_reduce inside it has no name: " + unnamed_reduce_advice(graph, part);
      return Refusal{reason, part};
    }
  }
  if (op_as<AllGather>(graph, id)) {
    reason += "; it is split already, and reorder moves what follows it";
  } else {
    std::string known;
    for (int i = 0; i < graph.size(); ++i) {
      if (!op_as<AllReduce>(graph, {i})) continue;
      known += (known.empty() ? "" : ", ") + quoted(graph, NodeId{i});
    }
    reason += known.empty() ? "; the program has none" : "; split takes one of " + known;
  }
  return Refusal{reason, id};
}

std::variant<Slice, Refusal> slice_of(const Graph& graph, NodeId id,
                                      const std::optional<Slice>& given, const AxisList& axes) {
  const Node& node = graph.node(id);
  if (node.type.is_scalar()) {
    return Refusal{quoted(graph, id) + " is one number; there is nothing to slice", id};
  }
  Slice slice;
  if (given) {
    slice = *given;
  } else {
    auto found = default_slice(graph, id, axes);
    if (const Refusal* refusal = std::get_if<Refusal>(&found)) return *refusal;
    slice = std::get<Slice>(found);
  }
  const AllReduce& op = *op_as<AllReduce>(graph, id);
  try {
    infer(ReduceScatter{op.fold, slice, axes}, std::span(&graph.node(node.inputs[0]).type, 1),
          graph.mesh());
  } catch (const UserError& error) {
    return Refusal{"it cannot be scattered over " + slice.text() + ": " + error.message(), id};
  }
  return slice;
}

}  // namespace

Verdict<SplitMatch> match_split_all_reduce(const Graph& graph, NodeId id,
                                           std::optional<Slice> slice) {
  if (auto refusal = refuse_other(graph, id)) return *refusal;
  auto found = slice_of(graph, id, slice, op_as<AllReduce>(graph, id)->axes);
  if (const Refusal* refusal = std::get_if<Refusal>(&found)) return *refusal;
  return SplitMatch{id, std::get<Slice>(found)};
}

Rewrite split_all_reduce(const Graph& graph, const SplitMatch& match) {
  Rebuild rebuild(graph);
  Rewrite::Result rs, ag;
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (NodeId{i} != match.all_reduce) {
      rebuild.copy({i});
      continue;
    }
    const AllReduce& op = std::get<AllReduce>(node.op);
    rs.nodes = {rebuild.add(ReduceScatter{op.fold, match.slice, op.axes}, rebuild.inputs_of({i}),
                            node.name + "_rs", node.where)};
    ag.nodes = {rebuild.add(AllGather{op.axes}, rs.nodes, node.name + "_ag", node.where)};
    rebuild.replace({i}, ag.nodes[0]);
  }
  return std::move(rebuild).finish({rs, ag});
}

Verdict<ReduceBroadcastMatch> match_reduce_broadcast(const Graph& graph, NodeId id) {
  if (auto refusal = refuse_other(graph, id)) return *refusal;
  const Node& node = graph.node(id);
  const AllReduce& op = std::get<AllReduce>(node.op);
  try {
    infer(ReduceTo{op.fold, 0, op.axes}, std::span(&graph.node(node.inputs[0]).type, 1),
          graph.mesh());
  } catch (const UserError& error) {
    return Refusal{"it cannot be reduced to one rank: " + error.message(), id};
  }
  return ReduceBroadcastMatch{id};
}

Rewrite reduce_broadcast(const Graph& graph, const ReduceBroadcastMatch& match) {
  Rebuild rebuild(graph);
  Rewrite::Result reduce, broadcast;
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (NodeId{i} != match.all_reduce) {
      rebuild.copy({i});
      continue;
    }
    const AllReduce& op = std::get<AllReduce>(node.op);
    reduce.nodes = {rebuild.add(ReduceTo{op.fold, 0, op.axes}, rebuild.inputs_of({i}),
                                node.name + "_reduce", node.where)};
    broadcast.nodes = {rebuild.add(Broadcast{std::nullopt, op.axes}, reduce.nodes,
                                   node.name + "_broadcast", node.where)};
    rebuild.replace({i}, broadcast.nodes[0]);
  }
  return std::move(rebuild).finish({reduce, broadcast});
}

Verdict<SplitMatch> match_split_hierarchical(const Graph& graph, NodeId id,
                                             std::optional<Slice> slice) {
  if (auto refusal = refuse_other(graph, id)) return *refusal;
  const AxisList& axes = op_as<AllReduce>(graph, id)->axes;
  if (axes.size() != 2) {
    return Refusal{quoted(graph, id) + " folds over " + std::to_string(axes.size()) +
                       (axes.size() == 1 ? " mesh axis" : " mesh axes") +
                       "; hierarchical needs two, the outer and the inner",
                   id};
  }
  auto found = slice_of(graph, id, slice, {axes[1]});
  if (const Refusal* refusal = std::get_if<Refusal>(&found)) return *refusal;
  return SplitMatch{id, std::get<Slice>(found)};
}

Rewrite split_hierarchical(const Graph& graph, const SplitMatch& match) {
  Rebuild rebuild(graph);
  Rewrite::Result rs, ar, ag;
  const AllReduce& op = *op_as<AllReduce>(graph, match.all_reduce);
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (NodeId{i} != match.all_reduce) {
      rebuild.copy({i});
      continue;
    }
    rs.nodes = {rebuild.add(ReduceScatter{op.fold, match.slice, {op.axes[1]}},
                            rebuild.inputs_of({i}), node.name + "_rs", node.where)};
    ar.nodes = {
        rebuild.add(AllReduce{op.fold, {op.axes[0]}}, rs.nodes, node.name + "_ar", node.where)};
    ag.nodes = {rebuild.add(AllGather{{op.axes[1]}}, ar.nodes, node.name + "_ag", node.where)};
    rebuild.replace({i}, ag.nodes[0]);
  }
  const DTypeKind kind = graph.node(match.all_reduce).type.dtype.kind;
  const bool exact = !is_floating(kind) || op.fold == Fold::max || op.fold == Fold::min;
  Rewrite out = std::move(rebuild).finish({rs, ar, ag});
  out.exactness = exact ? Exactness::exact : Exactness::reassociates;
  return out;
}

}  // namespace coconet
