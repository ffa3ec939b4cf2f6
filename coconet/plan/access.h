// What a launch reads and writes: the ground from which waits and lifetimes are derived.
#pragma once

#include <vector>

#include "coconet/plan/plan.h"

namespace coconet::plan {

struct Access {
  BufferId buffer;
  bool write = false;
  AxisList reach;  // not empty: the buffers of all ranks of these axes; empty: this rank's own
  bool piece =
      false;  // only the elements of the launch's space, at the same place in the tensor; else any
};

std::vector<Access> accesses_of(const Plan& plan, const Launch& launch);

// Of a kernel; else none.
const TensorType* space_of(const Launch& launch);

AxisList united(const AxisList& a, const AxisList& b);

// The axes along which two ranks may meet at an element of one buffer, by an access each of which
// one is a write; empty: none. `spaces`: of the launches that they are of.
AxisList meeting_axes(const Access& a, const TensorType* space_of_a, const Access& b,
                      const TensorType* space_of_b);

}  // namespace coconet::plan
