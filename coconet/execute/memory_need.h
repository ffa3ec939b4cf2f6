// What memory a run takes: known from plan and sizes, before anything is drawn or placed.
#pragma once

#include <vector>

#include "coconet/execute/inputs.h"
#include "coconet/plan/bind.h"
#include "coconet/runtime/buffers.h"

namespace coconet::execute {

// What the runtime places: the slots, whose buffers share memory; those of what is in the caller's
// are of no bytes.
std::vector<runtime::BufferNeed> slots_of(const plan::BoundPlan& bound);
// What a rank's caller has, at most.
std::uint64_t caller_bytes(const plan::BoundPlan& bound);

// UserError(runtime) if this machine, or a limit of this process, leaves too little for a run whose
// inputs are `given` or drawn.
void need_memory_of_run(const plan::Plan& plan, const interp::Setting& setting,
                        const std::vector<std::int64_t>& chunks, const GlobalTensors& given);

}  // namespace coconet::execute
