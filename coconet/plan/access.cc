#include "coconet/plan/access.h"

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

}  // namespace

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
