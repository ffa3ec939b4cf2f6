// Which buffers of the caller's may be one and the same memory.
#pragma once

#include "coconet/plan/plan.h"

namespace coconet::plan {

// Buffers that some launch writes, by index.
std::vector<bool> written_buffers(const Plan& plan);

// Whether a call is right where the output `written` stands in the very memory of `read`, which
// then loses its value: that is no output, and `written` no state with a value of its own; each
// launch that reads `read` comes before those that write `written`, chunk by chunk in an overlapped
// group, or reads in the same kernel the element that is written. Requires: both are of the
// caller's, and no launch writes `read`.
bool may_share_memory(const Plan& plan, BufferId read, BufferId written);

}  // namespace coconet::plan
