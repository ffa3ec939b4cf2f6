#include <algorithm>

#include "coconet/plan/access.h"
#include "coconet/plan/order.h"

namespace coconet::plan {
namespace {

// Inside an overlapped group chunks of all launches interleave: its launches count as one moment.
LaunchId moment_begin(const Plan& plan, LaunchId id) {
  const int group = plan.launch(id).overlap;
  return group < 0 ? id : plan.overlaps[group].first;
}

LaunchId moment_end(const Plan& plan, LaunchId id) {
  const int group = plan.launch(id).overlap;
  return group < 0 ? id : plan.overlaps[group].last;
}

void find_lifetimes(Plan& plan) {
  for (int l = 0; l < static_cast<int>(plan.launches.size()); ++l) {
    for (const Access& access : accesses_of(plan, plan.launches[l])) {
      Buffer& buffer = plan.buffers[access.buffer.index];
      if (!access.reach.empty()) buffer.symmetric = true;
      if (!buffer.first.valid()) buffer.first = moment_begin(plan, LaunchId{l});
      buffer.last = std::max(buffer.last, moment_end(plan, LaunchId{l}));
    }
  }
}

bool is_plan_output(const Plan& plan, int buffer) {
  return std::any_of(plan.outputs.begin(), plan.outputs.end(),
                     [&](const PlanOutput& out) { return out.buffer.index == buffer; });
}

bool may_share(const Buffer& a, const Buffer& b) {
  return a.symmetric == b.symmetric && a.type.shape == b.type.shape &&
         a.type.layout == b.type.layout && size_of(a.type.dtype.kind) == size_of(b.type.dtype.kind);
}

}  // namespace

void derive_memory(Plan& plan) {
  find_lifetimes(plan);
  struct Slot {
    int last_buffer;
    LaunchId free_after;
    bool kept;
  };
  std::vector<Slot> slots;
  std::vector<int> order;  // temporaries by first use
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) order.push_back(b);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return plan.buffers[a].first < plan.buffers[b].first; });
  for (int b : order) {
    Buffer& buffer = plan.buffers[b];
    const bool kept = buffer.role != BufferRole::temporary || is_plan_output(plan, b);
    int found = -1;
    for (int s = 0; s < static_cast<int>(slots.size()) && !kept && found < 0; ++s) {
      const bool over = slots[s].free_after < buffer.first;
      if (!slots[s].kept && over && may_share(plan.buffers[slots[s].last_buffer], buffer)) {
        found = s;
      }
    }
    if (found < 0) {
      found = static_cast<int>(slots.size());
      slots.push_back({});
    }
    slots[found] = {b, buffer.last, kept};
    buffer.slot = found;
  }
}

}  // namespace coconet::plan
