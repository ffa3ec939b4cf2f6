// Calls of one plan in a row, as a job makes them: the steps that every rank takes through them,
// and what its progress counter says (kernel/call.h, runtime/communicator.h).
//
// Steps. A rank enters a call, performs its turns, and returns; then it enters the next. Before it
// enters and after it returns its memory is its caller's.
// Flags. Its counter is `base` of the call once it has entered, base + tick after a turn of a
// launch that signals, base + all ticks once it has returned. A wait is for a value or more: base,
// or base
// + the awaited tick.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coconet/plan/bind.h"

namespace coconet::plan {

struct BoundCall {
  BoundPlan bound;
  std::int64_t base = 1;
};

// Of one plan, on one mesh. Counters begin at 0, and each call's base is one above the last value
// of the call before: a value means one place in one call.
std::vector<BoundCall> in_a_row(std::vector<BoundPlan> calls);

class Steps {
 public:
  // `progress` of `rank` that a rank waits for in a step.
  struct Need {
    int rank = 0;
    std::int64_t progress = 0;
    const Wait* wait = nullptr;
  };

  // Keeps a reference.
  explicit Steps(const std::vector<BoundCall>& calls);

  int count() const { return static_cast<int>(steps_.size()); }
  int call_of(int step) const { return steps_[step].call; }
  const BoundPlan& bound(int step) const { return calls_[call_of(step)].bound; }
  bool enters(int step) const { return steps_[step].turn < 0; }
  bool returns(int step) const { return steps_[step].turn == turns(step); }
  // Requires: it neither enters nor returns.
  const Turn& turn(int step) const { return bound(step).turns.at(steps_[step].turn); }

  std::vector<Need> needs(int step, int rank) const;
  // What the counter says after the step, if that sets it.
  std::optional<std::int64_t> signal(int step) const;

  // "rank 2 in launch 3 (ar), chunk 1 of call 2"; the first call, 0, is not named.
  std::string text_of(int step, int rank) const;
  // "rank 2 in launch 3 (ar), chunk 1, waits for rank 0 to do launch 2 (layer) of that chunk".
  std::string text_of(int step, int rank, const Need& need) const;

 private:
  struct Step {
    int call = 0;
    int turn = 0;  // index in BoundPlan::turns; -1: enters; their number: returns
  };
  int turns(int step) const { return static_cast<int>(bound(step).turns.size()); }

  const std::vector<BoundCall>& calls_;
  std::vector<Step> steps_;
};

}  // namespace coconet::plan
