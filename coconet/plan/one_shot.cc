#include "coconet/plan/one_shot.h"

#include <algorithm>
#include <set>

#include "coconet/plan/access.h"

namespace coconet::plan {
namespace {

AxisList sorted(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool is_whole(const Layout& layout) {
  return layout.axes_that_are<Sliced>().empty() && layout.axes_that_are<Rooted>().empty();
}

// The ranks that share the work are those that are folded over and those that get the results.
bool allows(const Kernel& kernel) {
  const AxisList sliced = sorted(kernel.space.layout.axes_that_are<Sliced>());
  if (!kernel.space.layout.axes_that_are<Rooted>().empty()) return false;
  const bool folds = std::ranges::all_of(kernel.statements, [&](const Statement& statement) {
    const FoldPeers* fold = std::get_if<FoldPeers>(&statement.action);
    return !fold || sliced.empty() || sorted(fold->axes) == sliced;
  });
  return folds && std::ranges::all_of(kernel.stores, [&](const Store& store) {
           return !store.to && !store.held && sorted(reach_of(store)) == sliced;
         });
}

bool allows(const Plan& plan, const Launch& launch) {
  if (const Kernel* kernel = std::get_if<Kernel>(&launch.work)) return allows(*kernel);
  return std::ranges::all_of(accesses_of(plan, launch),
                             [](const Access& access) { return access.reach.empty(); });
}

}  // namespace

std::vector<BufferId> exchangeable(const Plan& plan) {
  std::set<BufferId> read, written;
  for (const Launch& launch : plan.launches) {
    for (const Access& access : accesses_of(plan, launch)) {
      if (access.write) written.insert(access.buffer);
      if (!access.write && !access.reach.empty()) read.insert(access.buffer);
    }
  }
  std::vector<BufferId> out;
  for (const BufferId buffer : read) {
    const BufferRole role = plan.buffer(buffer).role;
    const bool given = role == BufferRole::input || role == BufferRole::state;
    if (given && !written.contains(buffer) && is_whole(plan.buffer(buffer).type.layout)) {
      out.push_back(buffer);
    }
  }
  return out;
}

bool allows_one_shot(const Plan& plan) {
  if (!plan.overlaps.empty()) return false;
  const bool whole = std::ranges::all_of(
      plan.buffers, [](const Buffer& buffer) { return is_whole(buffer.type.layout); });
  const std::vector<BufferId> given = exchangeable(plan);
  return whole && std::ranges::all_of(plan.launches, [&](const Launch& launch) {
           return allows(plan, launch) &&
                  std::ranges::all_of(accesses_of(plan, launch), [&](const Access& access) {
                    return access.write || access.reach.empty() ||
                           std::ranges::count(given, access.buffer) > 0;
                  });
         });
}

bool one_rank_does_all(const BoundPlan& bound) {
  bool shared = false;
  for (const Launch& launch : bound.plan->launches) {
    const Kernel* kernel = std::get_if<Kernel>(&launch.work);
    if (!kernel || kernel->space.layout.axes_that_are<Sliced>().empty()) continue;
    if (kernel->width != RunWidth::row) return false;
    // The first slice is the largest.
    const std::int64_t all = bound.piece(one_shot_space(*kernel), 0).count();
    if (bound.piece(kernel->space, 0).count() < all) return false;
    shared = true;
  }
  return shared;
}

TensorType one_shot_space(const Kernel& kernel) {
  TensorType whole = kernel.space;
  for (int axis : kernel.space.layout.axes_that_are<Sliced>()) {
    whole.layout = whole.layout.with(axis, Replicated{});
  }
  return whole;
}

}  // namespace coconet::plan
