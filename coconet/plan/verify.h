// What must hold of every plan.
#pragma once

#include "coconet/plan/bind.h"
#include "coconet/plan/plan.h"

namespace coconet::plan {

// 1. Buffers, values, launches, axes and groups that are named exist.
// 2. A statement's inputs stand before it; levels do not fall from input to value, but by folds
//    along the run; a per-peer value feeds per-peer values and one fold only.
// 3. A store's value has its buffer's dtype.
// 4. What is read is an input, or an earlier launch or chunk writes it; every output is written.
// 5. A launch waits for earlier launches only, chunk by chunk only inside its group.
// 6. A kernel reads a buffer that it writes only at the very element or run that it writes; the
//    other launches never.
// 7. Buffers of one slot have disjoint lifetimes, and a peer's accesses make a buffer symmetric.
// InternalError that names launch and rule. Pure.
void verify(const Plan& plan);

// Of any two accesses of different ranks to one element, one of them a write, one happens before
// the other: by each rank's order and by waits. Nobody touches the memory of a rank that has
// returned. Element by element, from type/piece.h: for small sizes. InternalError that names both
// accesses. Requires: verify(*bound.plan).
void verify_order(const BoundPlan& bound);

}  // namespace coconet::plan
