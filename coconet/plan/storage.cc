#include "coconet/plan/storage.h"

#include <algorithm>

#include "coconet/graph/walk.h"
#include "coconet/schedule/phases.h"

namespace coconet::plan {

Storage::Storage(Plan& plan, const std::vector<Unit>& units, bool keep_values)
    : plan_(plan),
      keep_values_(keep_values),
      readers_(readers_of(plan.graph)),
      outputs_(none_of(plan.graph)),
      buffers_(plan.graph.size()),
      blocks_(plan.graph.size()),
      stored_by_(plan.graph.size()),
      copied_(plan.graph.size(), false) {
  const Graph& graph = plan.graph;
  for (const Output& output : graph.outputs()) outputs_[output.node.index] = true;
  for (int i = 0; i < graph.size(); ++i) {
    const Input* input = std::get_if<Input>(&graph.nodes()[i].op);
    if (!input) continue;
    const BufferRole role = input->kind == InputKind::tensor  ? BufferRole::input
                            : input->kind == InputKind::state ? BufferRole::state
                                                              : BufferRole::scalar;
    buffers_[i] = BufferId{static_cast<int>(plan_.buffers.size())};
    plan_.buffers.push_back({graph.nodes()[i].name, input->type, role, false, -1, {}, {}, false});
  }
  place_updates(units);
}

void Storage::place_updates(const std::vector<Unit>& units) {
  const Graph& graph = plan_.graph;
  std::vector<int> unit_of(graph.size(), -1);
  std::vector<const Member*> member_of(graph.size(), nullptr);
  for (int u = 0; u < static_cast<int>(units.size()); ++u) {
    for (const Member& member : units[u].members) {
      for (NodeId id : member.nodes) {
        unit_of[id.index] = u;
        member_of[id.index] = &member;
      }
    }
  }
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!std::holds_alternative<Update>(node.op)) continue;
    buffers_[i] = buffers_[node.inputs[0].index];
    const NodeId value = node.inputs[1];
    if (!keep_values_ && in_place(NodeId{i}, member_of, unit_of)) {
      stored_by_[value.index] = NodeId{i};
      buffers_[value.index] = buffers_[i];
    } else {
      copied_[i] = true;
    }
  }
}

namespace {

// Whether a kernel that computes `reader` reads of its operand `input`, a tensor of this shape, the
// element it is at and no other.
bool reads_elementwise(const Graph& graph, const Node& reader, NodeId input, const Shape& shape) {
  const Op& op = reader.op;
  if (std::holds_alternative<BlockReduce>(op)) return graph.node(input).type.shape == shape;
  return (std::holds_alternative<Pointwise>(op) || std::holds_alternative<Cast>(op) ||
          std::holds_alternative<Dropout>(op) || std::holds_alternative<Update>(op)) &&
         reader.type.shape == shape;
}

}  // namespace

bool Storage::in_place(NodeId update, const std::vector<const Member*>& member_of,
                       const std::vector<int>& unit_of) {
  const Graph& graph = plan_.graph;
  const NodeId storage = graph.node(update).inputs[0];
  const NodeId value = graph.node(update).inputs[1];
  const int at = unit_of[value.index];
  if (at < 0 || is_view(graph.node(value).op) || stored_by_[value.index].valid()) return false;
  if (std::holds_alternative<Update>(graph.node(value).op)) return false;
  // Scalars are read again in every phase and chunk.
  if (graph.node(storage).type.is_scalar()) return false;
  const Member& writer = *member_of[value.index];
  const Phases phases = phases_of(graph, writer.nodes);
  // Whether no reader of `of`, the storage or a view of it, comes after the write.
  const auto read_before = [&](const auto& self, NodeId of) -> bool {
    return !outputs_[of.index] && std::ranges::all_of(readers_[of.index], [&](NodeId id) {
      const Node& reader = graph.node(id);
      if (is_view(reader.op)) return self(self, id);
      if (id == update || unit_of[id.index] < at) return true;
      if (unit_of[id.index] > at) return false;
      // What a send writes is another rank's element, which that rank may not have read.
      const bool same_kernel = member_of[id.index] == &writer && !is_send(graph.node(value).op);
      const auto elementwise = [&](NodeId input) {
        return base_of(graph, input) != storage ||
               reads_elementwise(graph, reader, input, graph.node(storage).type.shape);
      };
      return same_kernel && std::ranges::all_of(reader.inputs, elementwise) &&
             phase_of_reads(graph, phases, id) <= phases.of(value);
    });
  };
  return read_before(read_before, storage);
}

BufferId Storage::temporary(std::string name, const TensorType& type) {
  plan_.buffers.push_back({std::move(name), type, BufferRole::temporary, false, -1, {}, {}, false});
  return BufferId{static_cast<int>(plan_.buffers.size()) - 1};
}

BufferId Storage::buffer(NodeId id) {
  check(!is_view(plan_.graph.node(id).op), "a view has no buffer of its own");
  if (!buffers_[id.index].valid()) {
    const Node& node = plan_.graph.node(id);
    const std::string name = node.name.empty() ? "#" + std::to_string(id.index) : node.name;
    buffers_[id.index] = temporary(name, node.type);
  }
  return buffers_[id.index];
}

BufferId Storage::blocks(NodeId reduction) {
  if (!blocks_[reduction.index].valid()) {
    const std::string name = plan_.buffer(buffer(reduction)).name + ".blocks";
    blocks_[reduction.index] = temporary(name, block_sums_type(plan_.graph, reduction));
  }
  return blocks_[reduction.index];
}

TensorType block_sums_type(const Graph& graph, NodeId reduction) {
  const Node& node = graph.node(reduction);
  if (std::holds_alternative<BlockReduce>(node.op)) return node.type;
  const TensorType& operand = graph.node(node.inputs[0]).type;
  const DType wide{accumulator_of(operand.dtype.kind)};
  return {wide, {Dim::blocks(product_of(operand.shape))}, operand.layout};
}

bool Storage::needs_copy(NodeId update) const { return copied_[update.index]; }

}  // namespace coconet::plan
