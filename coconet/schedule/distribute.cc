#include "coconet/schedule/distribute.h"

#include <algorithm>

#include "coconet/graph/infer.h"
#include "coconet/schedule/default_slice.h"
#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/region.h"

namespace coconet {

Verdict<DistributeMatch> match_distribute(const Graph& graph, NodeId value,
                                          std::optional<Slice> slice, AxisList axes) {
  const Node& node = graph.node(value);
  if (node.type.is_scalar()) {
    return Refusal{quoted(graph, value) + " is one number; there is nothing to slice", value};
  }
  AxisList fitting;
  for (int axis = 0; axis < graph.mesh().size(); ++axis) {
    if (node.type.layout.is<Replicated>(axis)) fitting.push_back(axis);
  }
  if (fitting.empty()) {
    return Refusal{"distribute needs a replicated value; found " + type_text(graph, value), value};
  }
  if (readers_of(graph)[value.index].empty()) {
    return Refusal{"nobody reads " + quoted(graph, value) + "; distribute gives the readers of a " +
                       "value its gather, which they may be moved before",
                   value};
  }
  if (axes.empty() && fitting.size() > 1) {
    return Refusal{quoted(graph, value) + " is replicated on several axes; name one, as in " +
                       "distribute(x, (0), " + graph.mesh().axes[fitting[0]] + ")",
                   value};
  }
  if (axes.empty()) axes = fitting;
  if (auto refusal = refuse_grouped(graph, {value})) return *refusal;
  if (!slice) {
    auto found = default_slice(graph, value, axes);
    if (const Refusal* refusal = std::get_if<Refusal>(&found)) return *refusal;
    slice = std::get<Slice>(found);
  }
  try {
    infer(Shard{*slice, axes}, std::span(&node.type, 1), graph.mesh());
  } catch (const UserError& error) {
    return Refusal{"it cannot be sharded over " + slice->text() + ": " + error.message(), value};
  }
  return DistributeMatch{value, *slice, axes};
}

Rewrite distribute(const Graph& graph, const DistributeMatch& match) {
  Rebuild rebuild(graph);
  Rewrite::Result shard, gather;
  const Node& value = graph.node(match.value);
  NodeId whole;
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (std::holds_alternative<Update>(node.op) && node.inputs[0] == match.value) {
      // Storage is updated itself, not through its gather.
      std::vector<NodeId> inputs = rebuild.inputs_of({i});
      inputs[0] = whole;
      rebuild.replace({i}, rebuild.builder().add(node.op, inputs, node.name, node.where));
      continue;
    }
    const NodeId now = rebuild.copy({i});
    if (NodeId{i} != match.value) continue;
    whole = now;
    shard.nodes = {
        rebuild.add(Shard{match.slice, match.axes}, {whole}, value.name + "_shard", value.where)};
    gather.nodes = {
        rebuild.add(AllGather{match.axes}, shard.nodes, value.name + "_gather", value.where)};
    rebuild.replace(match.value, gather.nodes[0]);
    rebuild.forward(match.value, whole);
    rebuild.returns(match.value, whole);
  }
  return std::move(rebuild).finish({shard, gather});
}

}  // namespace coconet
