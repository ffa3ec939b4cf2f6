// The plan executor: performs a plan for all ranks in one process, without a compiler, under a
// seeded scheduler that picks any rank that can act.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coconet/interp/interpreter.h"
#include "coconet/plan/calls.h"
#include "coconet/simulate/scheduler.h"

namespace coconet::simulate {

struct ExecutorOptions {
  Policy policy = Policy::random;
  std::uint64_t seed = 0;
  std::vector<std::int64_t> chunks;  // as plan::bind
};

// The values that `plan`'s outputs and updated storage have on every rank (Result::values is
// empty). Statements mean what plan.h says, with the scalar operations of interp/scalar.h, so the
// bits are the interpreter's.
//
// A rank performs its turns in order, each once its waits are satisfied; other ranks may act
// between the parts of a turn. InternalError where the plan is at fault: memory read before it was
// written or as another buffer, memory of a rank that is not in the call, a value of the wrong
// dtype, or no rank able to act (naming each rank's turn and what it waits for). UserError as
// plan::bind and interp::run.
interp::Result execute(const plan::Plan& plan, const interp::Setting& setting,
                       const std::map<std::string, interp::Pieces>& inputs,
                       const ExecutorOptions& options = {});

// What a call is given. In a call after the first, an input or state that is not among the inputs
// has the value that the call before left.
struct CallGiven {
  interp::Setting setting;
  std::map<std::string, interp::Pieces> inputs;
};

// Calls in a row, in one memory, of the same plan and mesh; sizes may differ. A rank enters the
// next call as soon as it has returned: it runs ahead of the others as far as waits let it. Gives
// the results of each.
std::vector<interp::Result> execute_calls(const plan::Plan& plan,
                                          const std::vector<CallGiven>& given,
                                          const ExecutorOptions& options = {});
// Bound as they are to be.
std::vector<interp::Result> execute_calls(const std::vector<plan::BoundCall>& calls,
                                          const std::vector<CallGiven>& given,
                                          const ExecutorOptions& options = {});

}  // namespace coconet::simulate
