#include "coconet/plan/access.h"

#include <algorithm>

namespace coconet::plan {
namespace {

// The axes of the fold that a per-peer statement belongs to; a kernel has one fold at most.
AxisList fold_axes(const Kernel& kernel) {
  for (const Statement& statement : kernel.statements) {
    if (const auto* fold = std::get_if<FoldPeers>(&statement.action)) return fold->axes;
  }
  return {};
}

std::vector<Access> of_kernel(const Plan& plan, const Kernel& kernel) {
  std::vector<Access> out;
  const AxisList peers = fold_axes(kernel);
  for (const Statement& statement : kernel.statements) {
    if (const auto* load = std::get_if<Load>(&statement.action)) {
      const bool piece = plan.buffer(load->buffer).type.shape == kernel.space.shape;
      const AxisList reach = statement.per_peer ? peers : AxisList{};
      out.push_back({load->buffer, false, reach, piece});
    } else if (const auto* fold = std::get_if<FoldBuffer>(&statement.action)) {
      out.push_back({fold->buffer, false, {}, false});
    }
  }
  for (const Store& store : kernel.stores) {
    const Level level = kernel.statements[store.value.index].level;
    const bool piece = !store.held && (level == Level::run ||
                                       plan.buffer(store.buffer).type.shape == kernel.space.shape);
    out.push_back({store.buffer, true, reach_of(store), piece});
  }
  return out;
}

// Both launches work on the acting rank's piece under the same slices of these axes, so that
// different ranks touch different elements.
bool same_slices(const TensorType* first, const TensorType* second, const AxisList& axes) {
  if (!first || !second || first->rank() != second->rank()) return false;
  for (int axis : axes) {
    if (!first->layout.is<Sliced>(axis) || !second->layout.is<Sliced>(axis)) return false;
    if (!(first->layout.slice(axis) == second->layout.slice(axis))) return false;
  }
  return first->layout.slice_order() == second->layout.slice_order();
}

}  // namespace

const TensorType* space_of(const Launch& launch) {
  const Kernel* kernel = std::get_if<Kernel>(&launch.work);
  return kernel ? &kernel->space : nullptr;
}

AxisList united(const AxisList& a, const AxisList& b) {
  AxisList out = a;
  for (int axis : b) {
    if (std::find(out.begin(), out.end(), axis) == out.end()) out.push_back(axis);
  }
  std::sort(out.begin(), out.end());
  return out;
}

AxisList meeting_axes(const Access& a, const TensorType* space_of_a, const Access& b,
                      const TensorType* space_of_b) {
  if (!a.write && !b.write) return {};
  const AxisList axes = united(a.reach, b.reach);
  const bool apart = a.piece && b.piece && same_slices(space_of_a, space_of_b, axes);
  return apart ? AxisList{} : axes;
}

AxisList reach_of(const Store& store) {
  return store.to ? store.to->axes : store.all.value_or(AxisList{});
}

std::vector<Access> accesses_of(const Plan& plan, const Launch& launch) {
  return std::visit(Overloaded{
                        [&](const Kernel& kernel) { return of_kernel(plan, kernel); },
                        [&](const MatmulLaunch& matmul) {
                          return std::vector<Access>{{matmul.a, false, {}, false},
                                                     {matmul.b, false, {}, false},
                                                     {matmul.out, true, {}, false}};
                        },
                        [&](const Conv2dLaunch& conv) {
                          return std::vector<Access>{{conv.x, false, {}, false},
                                                     {conv.w, false, {}, false},
                                                     {conv.out, true, {}, false}};
                        },
                        [&](const MoveLaunch& move) {
                          std::vector<Access> out = {{move.out, true, {}, false}};
                          for (BufferId in : move.in) out.push_back({in, false, {}, false});
                          return out;
                        },
                        [&](const ReduceLaunch& reduce) {
                          return std::vector<Access>{{reduce.in, false, {}, false},
                                                     {reduce.out, true, {}, false}};
                        },
                    },
                    launch.work);
}

}  // namespace coconet::plan
