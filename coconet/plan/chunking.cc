#include "coconet/plan/chunking.h"

#include <algorithm>

namespace coconet::plan {
namespace {

Slice rows_of_vector_or_matrix(const Shape& shape) {
  int last = std::max(0, static_cast<int>(shape.size()) - 2);
  for (int d = 0; d <= last; ++d) {
    if (shape[d].is_one()) last = d - 1;  // a slice has no dim of 1
  }
  return Slice::range(0, std::max(0, last));
}

bool has_rows(const Shape& shape, const OverlapGroup& group) {
  return shape.size() >= group.rows.size() &&
         std::equal(group.rows.begin(), group.rows.end(), shape.begin());
}

// Along the group's rows the layout cuts nothing, or just what the group cuts.
bool cut_like_group(const TensorType& type, const OverlapGroup& group, bool may_be_cut) {
  for (int axis : type.layout.axes_that_are<Sliced>()) {
    const Slice& slice = type.layout.slice(axis);
    const bool owner = std::find(group.axes.begin(), group.axes.end(), axis) != group.axes.end();
    if (owner && may_be_cut && slice == group.slice) continue;
    if (slice.overlaps(group.slice)) return false;
  }
  return true;
}

bool can_chunk_kernel(const Plan& plan, const Kernel& kernel, const OverlapGroup& group) {
  if (kernel.width == RunWidth::block || !has_rows(kernel.space.shape, group)) return false;
  if (!cut_like_group(kernel.space, group, true)) return false;
  for (const Statement& statement : kernel.statements) {
    if (std::holds_alternative<FoldBuffer>(statement.action)) return false;
  }
  return std::all_of(kernel.stores.begin(), kernel.stores.end(), [&](const Store& store) {
    return kernel.statements[store.value.index].level != Level::call &&
           has_rows(plan.buffer(store.buffer).type.shape, group);
  });
}

}  // namespace

OverlapGroup chunking_of(const Graph& graph, const Unit& unit) {
  OverlapGroup out;
  out.name = graph.group(unit.overlapped).name;
  out.slice = Slice::all();
  for (const Member& member : unit.members) {
    for (NodeId id : member.nodes) {
      const Node& node = graph.node(id);
      const TensorType* cut = &node.type;
      if (const auto* scatter = std::get_if<ReduceScatter>(&node.op)) {
        out.axes = scatter->axes;
      } else if (const auto* gather = std::get_if<AllGather>(&node.op)) {
        cut = &graph.node(node.inputs[0]).type;
        out.axes = gather->axes;
      } else if (const auto* reduce = std::get_if<AllReduce>(&node.op)) {
        out.axes = reduce->axes;
      } else {
        continue;
      }
      if (cut->shape.empty() || cut->shape.front().is_blocks()) continue;
      const bool whole = std::holds_alternative<AllReduce>(node.op);
      out.slice = whole ? rows_of_vector_or_matrix(cut->shape) : cut->layout.slice(out.axes[0]);
      // Chunks are rows; a flat slice has none, and slices of several axes nest.
      if (out.slice.flat || out.slice.first != 0 || out.axes.size() != 1) continue;
      out.rows.assign(cut->shape.begin(), cut->shape.begin() + out.slice.last + 1);
      if (std::any_of(out.rows.begin(), out.rows.end(), [](const Dim& d) { return d.is_one(); })) {
        out.rows.clear();
        continue;
      }
      return out;
    }
  }
  return out;
}

TensorType space_of_all_reduce(const TensorType& type, const AxisList& axes,
                               const OverlapGroup* group) {
  if (type.shape.empty() || !type.layout.axes_that_are<Sliced>().empty()) return type;
  const bool rows =
      group && group->axes == axes && has_rows(type.shape, *group) && !group->rows.empty();
  TensorType out = type;
  for (int axis : axes) {
    out.layout = out.layout.with(axis, Sliced{rows ? group->slice : Slice::all()});
  }
  return out;
}

bool can_chunk(const Plan& plan, const Launch& launch, const OverlapGroup& group) {
  if (group.rows.empty()) return false;
  return std::visit(Overloaded{
                        [&](const Kernel& kernel) { return can_chunk_kernel(plan, kernel, group); },
                        [&](const MatmulLaunch& matmul) {
                          const TensorType& out = plan.buffer(matmul.out).type;
                          return plan.buffer(matmul.b).type.rank() == 2 &&
                                 has_rows(out.shape, group) &&
                                 group.rows.size() < out.shape.size() &&
                                 cut_like_group(out, group, false);
                        },
                        [](const ReduceLaunch&) { return false; },
                    },
                    launch.work);
}

}  // namespace coconet::plan
