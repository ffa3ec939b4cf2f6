#include <algorithm>
#include <map>
#include <tuple>

#include "coconet/plan/access.h"
#include "coconet/plan/order.h"

namespace coconet::plan {
namespace {

struct Use {
  LaunchId launch;
  Access access;
};

// Performing it, a rank has waited for what it would wait for by `other` too.
bool covers(const Plan& plan, const Wait& wait, const Wait& other) {
  if (!wait.same_chunk || wait.behind > other.behind) return false;
  if (united(wait.axes, other.axes) != wait.axes) return false;
  return wait.on == other.on || is_turn_before(plan, other.on, wait.on, other.behind - wait.behind);
}

void add_wait(const Plan& plan, std::vector<Wait>& waits, const Wait& wait) {
  const auto covered = [&](const Wait& other) { return covers(plan, other, wait); };
  if (std::ranges::any_of(waits, covered)) return;
  std::erase_if(waits,
                [&](const Wait& other) { return other.behind > 0 && covers(plan, wait, other); });
  waits.push_back(wait);
}

class GroupRings {
 public:
  GroupRings(Plan& plan, const OverlapGroup& group) : plan_(plan), group_(group) {}

  void derive(const std::vector<bool>& outputs) {
    std::map<BufferId, std::vector<Use>> uses;
    for (BufferId buffer : group_.by_rows) {
      if (may_be_ring(plan_.buffer(buffer)) && !outputs[buffer.index]) uses[buffer];
    }
    for (int l = group_.first.index; l <= group_.last.index; ++l) {
      for (const Access& access : accesses_of(plan_, plan_.launches[l])) {
        const auto of = uses.find(access.buffer);
        if (of != uses.end()) of->second.push_back({LaunchId{l}, access});
      }
    }
    for (const auto& [buffer, of] : uses) make_ring(plan_.buffers[buffer.index], of);
  }

 private:
  bool may_be_ring(const Buffer& buffer) const {
    return buffer.role == BufferRole::temporary && buffer.first == group_.first &&
           buffer.last == group_.last && buffer.type.layout.axes_that_are<Rooted>().empty();
  }

  AxisList meeting(const Use& use, const Use& write) const {
    return meeting_axes(use.access, space_of(plan_.launch(use.launch)), write.access,
                        space_of(plan_.launch(write.launch)));
  }

  void make_ring(Buffer& buffer, const std::vector<Use>& uses) {
    std::vector<Use> writes;
    std::ranges::copy_if(uses, std::back_inserter(writes),
                         [](const Use& use) { return use.access.write; });
    buffer.ring = 1;
    bool peers = false;
    for (const Use& write : writes) {
      for (const Use& use : uses) {
        while (!is_turn_before(plan_, use.launch, write.launch, buffer.ring)) ++buffer.ring;
        peers = peers || !meeting(use, write).empty();
      }
    }
    // With no chunk to spare all ranks would wait for the slowest in each beat.
    if (peers) ++buffer.ring;
    for (const Use& write : writes) {
      for (const Use& use : uses) {
        const AxisList axes = meeting(use, write);
        if (axes.empty()) continue;
        add_wait(plan_, plan_.launches[write.launch.index].waits,
                 {use.launch, axes, true, buffer.ring});
      }
    }
  }

  Plan& plan_;
  const OverlapGroup& group_;
};

}  // namespace

bool is_turn_before(const Plan& plan, LaunchId first, LaunchId second, int chunks) {
  const int a = plan.launch(first).lag, b = plan.launch(second).lag + chunks;
  return std::tie(a, first) < std::tie(b, second);
}

void derive_rings(Plan& plan) {
  std::vector<bool> outputs(plan.buffers.size(), false);
  for (const PlanOutput& output : plan.outputs) outputs[output.buffer.index] = true;
  for (const OverlapGroup& group : plan.overlaps) GroupRings(plan, group).derive(outputs);
  for (const Launch& launch : plan.launches) {
    for (const Wait& wait : launch.waits) {
      if (wait.behind > 0) plan.launches[wait.on.index].signals = true;
    }
  }
}

}  // namespace coconet::plan
