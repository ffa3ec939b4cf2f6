// Accesses are indexed by the memory that they touch, so a launch looks at what its own buffers
// have been through and not at every launch before it.
#include <algorithm>
#include <tuple>

#include "coconet/plan/access.h"
#include "coconet/plan/order.h"

namespace coconet::plan {
namespace {

// Accesses to one buffer that nothing here can tell apart: their first in the order of launches and
// accesses, and the last launch of them.
struct Past {
  Access access;
  const TensorType* space = nullptr;  // of the launch, a kernel
  int first = 0;
  LaunchId last;
};

bool is_alike(const Past& past, const Access& access, const TensorType* space) {
  const Access& other = past.access;
  if (other.write != access.write || other.piece != access.piece) return false;
  if (other.reach != access.reach || !past.space != !space) return false;
  return !space || (past.space->rank() == space->rank() && past.space->layout == space->layout);
}

// What a slot has been through: the accesses to the buffer that holds it now, and to those before,
// of which only who writes and who reaches matters.
struct History {
  BufferId buffer;
  std::vector<Past> now, before;
};

void note(std::vector<Past>& pasts, const Past& past) {
  for (Past& other : pasts) {
    if (!is_alike(other, past.access, past.space)) continue;
    other.first = std::min(other.first, past.first);
    other.last = std::max(other.last, past.last);
    return;
  }
  pasts.push_back(past);
}

void note(History& history, const Past& past) {
  if (history.buffer != past.access.buffer) {
    for (Past old : history.now) {
      old.access.piece = false;
      old.space = nullptr;
      note(history.before, old);
    }
    history.now.clear();
    history.buffer = past.access.buffer;
  }
  note(history.now, past);
}

// That a rank performing a launch must wait for others along these axes to have performed `on`.
struct Conflict {
  int first = 0, access = 0;  // the places of the two accesses: conflicts are in their order
  LaunchId on;
  AxisList axes;
};

// The axes along which accesses of two ranks, the earlier one as `past`, may meet; empty: none.
AxisList conflict(const Past& past, bool same_buffer, const Access& later,
                  const TensorType* space) {
  if (same_buffer) return meeting_axes(past.access, past.space, later, space);
  if (!past.access.write && !later.write) return {};
  return united(past.access.reach, later.reach);
}

std::vector<Conflict> conflicts_of(const Plan& plan, const std::vector<History>& slots,
                                   const std::vector<Access>& accesses, const TensorType* space) {
  std::vector<Conflict> out;
  for (int a = 0; a < static_cast<int>(accesses.size()); ++a) {
    const History& slot = slots[plan.buffer(accesses[a].buffer).slot];
    for (const auto* pasts : {&slot.now, &slot.before}) {
      const bool same_buffer = pasts == &slot.now && slot.buffer == accesses[a].buffer;
      for (const Past& past : *pasts) {
        AxisList axes = conflict(past, same_buffer, accesses[a], space);
        if (!axes.empty()) out.push_back({past.first, a, past.last, std::move(axes)});
      }
    }
  }
  std::sort(out.begin(), out.end(), [](const Conflict& a, const Conflict& b) {
    return std::tie(a.first, a.access) < std::tie(b.first, b.access);
  });
  return out;
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

// A launch that reaches peers waits for their entry, unless it or one before has waited for them:
// until a rank has entered, its memory is its caller's.
void await_entry(Launch& launch, const std::vector<Access>& accesses,
                 std::vector<AxisList>& entered) {
  const auto note = [&](const AxisList& axes) {
    if (std::find(entered.begin(), entered.end(), axes) == entered.end()) entered.push_back(axes);
  };
  for (const Wait& wait : launch.waits) note(wait.axes);
  for (const Access& access : accesses) {
    const bool known = std::any_of(entered.begin(), entered.end(), [&](const AxisList& axes) {
      return united(axes, access.reach) == axes;
    });
    if (access.reach.empty() || known) continue;
    add_wait(launch.waits, {{}, access.reach, false});
    note(access.reach);
  }
}

void derive_signals(Plan& plan) {
  const auto derive = [&](const std::vector<Wait>& waits) {
    for (const Wait& wait : waits) {
      if (wait.on.valid()) plan.launches.at(wait.on.index).signals = true;
    }
  };
  for (const Launch& launch : plan.launches) derive(launch.waits);
  derive(plan.exit_waits);
}

bool in_group(const Plan& plan, LaunchId launch, int group) {
  return group >= 0 && plan.launch(launch).overlap == group;
}

}  // namespace

void derive_waits(Plan& plan) {
  std::size_t slots = 0;
  for (const Buffer& buffer : plan.buffers) slots = std::max<std::size_t>(slots, buffer.slot + 1);
  std::vector<History> histories(slots);
  int place = 0;                  // of an access
  std::vector<AxisList> entered;  // the ranks along these axes are known to be in the call
  for (int l = 0; l < static_cast<int>(plan.launches.size()); ++l) {
    Launch& launch = plan.launches[l];
    const TensorType* space = space_of(launch);
    const std::vector<Access> accesses = accesses_of(plan, launch);
    // Ascending, so that a wait on a launch of the group covers those before.
    if (l > 0 && in_group(plan, LaunchId{l - 1}, launch.overlap)) {
      launch.lag = std::max(launch.lag, plan.launches[l - 1].lag);
    }
    for (const Conflict& found : conflicts_of(plan, histories, accesses, space)) {
      const bool inside = in_group(plan, found.on, launch.overlap);
      if (inside) launch.lag = std::max(launch.lag, plan.launch(found.on).lag + 1);
      add_wait(launch.waits, {found.on, found.axes, inside});
    }
    await_entry(launch, accesses, entered);
    for (const Access& access : accesses) {
      note(histories[plan.buffer(access.buffer).slot], {access, space, place++, LaunchId{l}});
      if (!access.reach.empty()) add_wait(plan.exit_waits, {LaunchId{l}, access.reach, false});
    }
  }
  derive_signals(plan);
}

}  // namespace coconet::plan
