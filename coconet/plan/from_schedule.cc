#include "coconet/plan/from_schedule.h"

#include <algorithm>

#include "coconet/graph/walk.h"
#include "coconet/plan/chunking.h"
#include "coconet/plan/order.h"
#include "coconet/plan/region.h"
#include "coconet/plan/staging.h"
#include "coconet/plan/storage.h"
#include "coconet/plan/units.h"
#include "coconet/plan/verify.h"

namespace coconet::plan {
namespace {

void lower_unit(Plan& plan, Storage& storage, Staging& staging, const Unit& unit,
                bool keep_values) {
  const int first = static_cast<int>(plan.launches.size());
  const std::optional<Slice> rows = chunked_slice(plan.graph, unit);
  for (const Member& member : unit.members) {
    lower_member(plan, storage, member, {keep_values, rows});
  }
  staging.stage(unit, first);
  form_overlap_group(plan, unit, first);
}

// Groups of the schedule have the first numbers, in their order, whatever is staged.
void number_knobs(Plan& plan) {
  int next = 0;
  for (const bool staging : {false, true}) {
    for (OverlapGroup& group : plan.overlaps) {
      if (group.staging == staging) group.knob = next++;
    }
  }
}

// An output that is the old value of a storage that is updated: copied before anything else.
BufferId saved_storage(Plan& plan, Storage& storage, const Output& output) {
  const BufferId copy = storage.temporary(output.name, plan.graph.node(output.node).type);
  lower_copy(plan, storage, output.node, copy, "save " + output.name);
  return copy;
}

bool is_updated(const Graph& graph, const Storage& storage, NodeId id) {
  return std::ranges::any_of(storage.readers(id), [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return std::holds_alternative<Update>(node.op) && node.inputs[0] == id;
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

std::vector<Dim> Plan::lists() const {
  std::vector<Dim> out;
  for (const Buffer& buffer : buffers) {
    for (const Dim& dim : buffer.type.shape) {
      if (!dim.is_packed()) continue;
      const Dim list = Dim::packed(dim.elements());
      if (std::find(out.begin(), out.end(), list) == out.end()) out.push_back(list);
    }
  }
  return out;
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
    if (is_updated(graph, storage, base))
      saved[o] = saved_storage(plan, storage, graph.outputs()[o]);
  }
  Staging staging(plan, options.staged);
  for (std::size_t o = 0; o < saved.size(); ++o) {
    const Output& output = graph.outputs()[o];
    if (!staging.has_output(output.name)) continue;
    const bool later = !saved[o].valid() && needs_own_buffer(graph, output.node);
    if (!later) staging.mark(output, saved[o].valid() ? saved[o] : storage.buffer(output.node));
  }
  for (const Unit& unit : units) lower_unit(plan, storage, staging, unit, options.keep_values);
  for (std::size_t o = 0; o < saved.size(); ++o) {
    const Output& output = graph.outputs()[o];
    if (!saved[o].valid() && needs_own_buffer(graph, output.node)) {
      saved[o] = saved_storage(plan, storage, output);
    }
    const BufferId buffer = saved[o].valid() ? saved[o] : storage.buffer(output.node);
    if (staging.has_output(output.name)) staging.mark(output, buffer);
    plan.outputs.push_back({output.name, buffer});
  }
  if (options.keep_values) {
    for (int i = 0; i < graph.size(); ++i) {
      if (needs_own_buffer(graph, NodeId{i}) || !storage.has_buffer(NodeId{i})) continue;
      plan.outputs.push_back({"#" + std::to_string(i), storage.buffer(NodeId{i})});
    }
  }
  staging.note_whole_copies();
  number_knobs(plan);
  derive_memory(plan);
  derive_waits(plan);
  derive_rings(plan);
#ifdef COCONET_VERIFY_SMALL
  verify_small(plan);
#else
  verify(plan);
#endif
  return plan;
}

}  // namespace coconet::plan
