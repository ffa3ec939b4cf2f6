#include "coconet/plan/calls.h"

#include "coconet/base/error.h"
#include "coconet/plan/visit.h"

namespace coconet::plan {

std::vector<BoundCall> in_a_row(std::vector<BoundPlan> calls) {
  std::vector<BoundCall> out;
  std::int64_t base = 1;
  for (BoundPlan& bound : calls) {
    const std::int64_t ticks = bound.ticks;
    out.push_back({std::move(bound), base});
    base += ticks + 1;
  }
  return out;
}

Steps::Steps(const std::vector<BoundCall>& calls) : calls_(calls) {
  check(!calls.empty(), "there is a call");
  for (int call = 0; call < static_cast<int>(calls.size()); ++call) {
    const BoundPlan& bound = calls[call].bound;
    check(bound.plan == calls[0].bound.plan && bound.mesh.sizes == calls[0].bound.mesh.sizes,
          "calls in a row are of one plan on one mesh");
    for (int turn = -1; turn <= static_cast<int>(bound.turns.size()); ++turn) {
      steps_.push_back({call, turn});
    }
  }
}

std::vector<Steps::Need> Steps::needs(int step, int rank) const {
  std::vector<Need> out;
  if (enters(step)) return out;
  const BoundCall& call = calls_[call_of(step)];
  const Plan& plan = *call.bound.plan;
  const auto& waits = returns(step) ? plan.exit_waits : plan.launch(turn(step).launch).waits;
  for (const Wait& wait : waits) {
    std::int64_t tick = 0;
    if (wait.same_chunk) {
      const int chunk = turn(step).chunk - wait.behind;
      if (chunk < 0) continue;
      tick = call.bound.tick(wait.on, chunk);
    } else if (wait.on.valid()) {
      tick = call.bound.last_tick(wait.on);
    }
    for (int peer : call.bound.mesh.group(rank, wait.axes)) {
      if (peer != rank) out.push_back({peer, call.base + tick, &wait});
    }
  }
  return out;
}

std::optional<std::int64_t> Steps::signal(int step) const {
  const BoundCall& call = calls_[call_of(step)];
  if (enters(step)) return call.base;
  if (returns(step)) return call.base + call.bound.ticks;
  if (!call.bound.plan->launch(turn(step).launch).signals) return std::nullopt;
  return call.base + turn(step).tick;
}

std::string Steps::text_of(int step, int rank) const {
  const std::string number = std::to_string(call_of(step));
  if (enters(step)) return "rank " + std::to_string(rank) + " entering call " + number;
  if (returns(step)) return "rank " + std::to_string(rank) + " returning from call " + number;
  const std::string text = plan::text_of(*bound(step).plan, turn(step), rank);
  return text + (call_of(step) > 0 ? " of call " + number : "");
}

std::string Steps::text_of(int step, int rank, const Need& need) const {
  const std::string text =
      text_of(step, rank) + ", waits for rank " + std::to_string(need.rank) + " to ";
  const LaunchId on = need.wait->on;
  if (!on.valid()) return text + "enter it";
  const int behind = need.wait->behind;
  const std::string chunk =
      " of that chunk" + (behind > 0 ? " less " + std::to_string(behind) : "");
  return text + "do launch " + std::to_string(on.index) + " (" + bound(step).plan->launch(on).name +
         ")" + (need.wait->same_chunk ? chunk : "");
}

}  // namespace coconet::plan
