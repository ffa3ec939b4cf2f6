#include <algorithm>

#include "coconet/plan/access.h"
#include "coconet/plan/order.h"

namespace coconet::plan {
namespace {

AxisList united(const AxisList& a, const AxisList& b) {
  AxisList out = a;
  for (int axis : b) {
    if (std::find(out.begin(), out.end(), axis) == out.end()) out.push_back(axis);
  }
  std::sort(out.begin(), out.end());
  return out;
}

const TensorType* space_of(const Launch& launch) {
  const Kernel* kernel = std::get_if<Kernel>(&launch.work);
  return kernel ? &kernel->space : nullptr;
}

// Both launches work on the acting rank's piece under the same slices of these axes, so that
// different ranks touch different elements.
bool same_slices(const Launch& a, const Launch& b, const AxisList& axes) {
  const TensorType* first = space_of(a);
  const TensorType* second = space_of(b);
  if (!first || !second || first->rank() != second->rank()) return false;
  for (int axis : axes) {
    if (!first->layout.is<Sliced>(axis) || !second->layout.is<Sliced>(axis)) return false;
    if (!(first->layout.slice(axis) == second->layout.slice(axis))) return false;
  }
  return first->layout.slice_order() == second->layout.slice_order();
}

// The axes along which a rank performing `later` must wait for others to have performed `earlier`;
// empty: none.
AxisList conflict(const Plan& plan, const Launch& earlier, const Access& a, const Launch& later,
                  const Access& b) {
  if (plan.buffer(a.buffer).slot != plan.buffer(b.buffer).slot) return {};
  if (!a.write && !b.write) return {};
  const AxisList axes = united(a.reach, b.reach);
  if (axes.empty()) return {};
  const bool apart =
      a.buffer == b.buffer && a.piece && b.piece && same_slices(earlier, later, axes);
  return apart ? AxisList{} : axes;
}

// The later of two waits on the same axes.
bool later_than(const Wait& a, const Wait& b) {
  if (a.same_chunk != b.same_chunk) return a.same_chunk;
  return a.on > b.on;
}

void add_wait(std::vector<Wait>& waits, const Wait& wait) {
  for (Wait& other : waits) {
    if (other.axes != wait.axes) continue;
    // Inside a group, chunks of two launches are both needed only if neither comes later in a beat:
    // the later launch of the same beat or of a later one covers the other; lags are ascending, so
    // the greater launch does.
    if (later_than(wait, other)) other = wait;
    return;
  }
  waits.push_back(wait);
}

bool in_group(const Plan& plan, int launch, int group) {
  return group >= 0 && plan.launches[launch].overlap == group;
}

void find_lags(Plan& plan) {
  for (int l = 0; l < static_cast<int>(plan.launches.size()); ++l) {
    Launch& later = plan.launches[l];
    if (later.overlap < 0) continue;
    for (int e = plan.overlaps[later.overlap].first.index; e < l; ++e) {
      const Launch& earlier = plan.launches[e];
      later.lag =
          std::max(later.lag, earlier.lag);  // ascending, so that a wait on one covers those before
      int lag = earlier.lag;
      for (const Access& a : accesses_of(plan, earlier)) {
        for (const Access& b : accesses_of(plan, later)) {
          if (!conflict(plan, earlier, a, later, b).empty()) lag = earlier.lag + 1;
        }
      }
      later.lag = std::max(later.lag, lag);
    }
  }
}

}  // namespace

void derive_waits(Plan& plan) {
  find_lags(plan);
  for (int l = 0; l < static_cast<int>(plan.launches.size()); ++l) {
    Launch& later = plan.launches[l];
    const auto needs = accesses_of(plan, later);
    for (int e = 0; e < l; ++e) {
      const Launch& earlier = plan.launches[e];
      for (const Access& a : accesses_of(plan, earlier)) {
        for (const Access& b : needs) {
          const AxisList axes = conflict(plan, earlier, a, later, b);
          if (axes.empty()) continue;
          add_wait(later.waits, {LaunchId{e}, axes, in_group(plan, e, later.overlap)});
        }
      }
    }
  }
  for (int e = 0; e < static_cast<int>(plan.launches.size()); ++e) {
    for (const Access& access : accesses_of(plan, plan.launches[e])) {
      if (!access.reach.empty()) add_wait(plan.exit_waits, {LaunchId{e}, access.reach, false});
    }
  }
}

}  // namespace coconet::plan
