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

}  // namespace coconet::plan
