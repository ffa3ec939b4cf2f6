#include "coconet/plan/from_schedule.h"

#include <algorithm>

#include "coconet/graph/walk.h"
#include "coconet/plan/order.h"
#include "coconet/plan/region.h"
#include "coconet/plan/storage.h"
#include "coconet/plan/units.h"

namespace coconet::plan {
namespace {

// The slice that the fused collective of an overlapped group cuts, or that its gather joins.
OverlapGroup chunking_of(const Graph& graph, const Unit& unit) {
  OverlapGroup out;
  out.name = graph.group(unit.overlapped).name;
  for (const Member& member : unit.members) {
    for (NodeId id : member.nodes) {
      const Node& node = graph.node(id);
      const TensorType* cut = nullptr;
      AxisList axes;
      if (const auto* scatter = std::get_if<ReduceScatter>(&node.op)) {
        cut = &node.type;
        axes = scatter->axes;
      } else if (const auto* gather = std::get_if<AllGather>(&node.op)) {
        cut = &graph.node(node.inputs[0]).type;
        axes = gather->axes;
      }
      if (!cut || cut->shape.front().is_blocks()) continue;
      out.axes = axes;
      out.slice = cut->layout.slice(axes.front());
      return out;
    }
  }
  out.slice = Slice::dim(0);
  return out;
}

void lower_unit(Plan& plan, Storage& storage, const Unit& unit, bool keep_values) {
  const int first = static_cast<int>(plan.launches.size());
  for (const Member& member : unit.members) lower_member(plan, storage, member, keep_values);
  const int last = static_cast<int>(plan.launches.size()) - 1;
  if (!unit.overlapped.valid() || last < first) return;
  OverlapGroup group = chunking_of(plan.graph, unit);
  group.first = LaunchId{first};
  group.last = LaunchId{last};
  group.knob = static_cast<int>(plan.overlaps.size());
  // What folds all blocks cannot be chunked; it can only come last (schedule/overlap.h), after the
  // group.
  for (int l = first; l <= last; ++l) {
    const Kernel* kernel = std::get_if<Kernel>(&plan.launches[l].work);
    const bool whole = kernel && std::any_of(kernel->statements.begin(), kernel->statements.end(),
                                             [](const Statement& s) {
                                               return std::holds_alternative<FoldBuffer>(s.action);
                                             });
    if (whole) {
      group.last = LaunchId{l - 1};
      break;
    }
  }
  if (group.last < group.first) return;
  for (int l = group.first.index; l <= group.last.index; ++l) {
    plan.launches[l].overlap = static_cast<int>(plan.overlaps.size());
  }
  plan.overlaps.push_back(group);
}

// An output that is the old value of a storage that is updated: copied before anything else.
BufferId saved_storage(Plan& plan, Storage& storage, const Output& output) {
  const BufferId copy = storage.temporary(output.name, plan.graph.node(output.node).type);
  lower_copy(plan, storage, output.node, copy, "save " + output.name);
  return copy;
}

bool is_updated(const Graph& graph, NodeId storage) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return std::holds_alternative<Update>(node.op) && node.inputs[0] == storage;
  });
}

bool needs_own_buffer(const Graph& graph, NodeId id) {
  const Op& op = graph.node(id).op;
  return is_view(op) || is_literal(op);
}

}  // namespace

BufferId Plan::parameter(std::string_view name) const {
  for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
    if (buffers[b].role != BufferRole::temporary && buffers[b].name == name) return BufferId{b};
  }
  return {};
}

Plan from_schedule(const Graph& graph, const PlanOptions& options) {
  Plan plan;
  plan.graph = graph;
  plan.schedule = options.schedule;
  const std::vector<Unit> units = units_of(graph);
  Storage storage(plan, units, options.keep_values);
  std::vector<BufferId> saved(graph.outputs().size());
  for (std::size_t o = 0; o < saved.size(); ++o) {
    const NodeId base = base_of(graph, graph.outputs()[o].node);
    if (is_updated(graph, base)) saved[o] = saved_storage(plan, storage, graph.outputs()[o]);
  }
  for (const Unit& unit : units) lower_unit(plan, storage, unit, options.keep_values);
  for (std::size_t o = 0; o < saved.size(); ++o) {
    const Output& output = graph.outputs()[o];
    if (!saved[o].valid() && needs_own_buffer(graph, output.node)) {
      saved[o] = saved_storage(plan, storage, output);
    }
    const BufferId buffer = saved[o].valid() ? saved[o] : storage.buffer(output.node);
    plan.outputs.push_back({output.name, buffer});
  }
  if (options.keep_values) {
    for (int i = 0; i < graph.size(); ++i) {
      if (needs_own_buffer(graph, NodeId{i})) continue;
      plan.outputs.push_back({"#" + std::to_string(i), storage.buffer(NodeId{i})});
    }
  }
  derive_memory(plan);
  derive_waits(plan);
  return plan;
}

}  // namespace coconet::plan
