// What must hold of every plan.
#pragma once

#include <vector>

#include "coconet/plan/calls.h"
#include "coconet/plan/plan.h"

namespace coconet::plan {

// 1. Buffers, values, launches, axes and groups that are named exist.
// 2. A statement's inputs stand before it; levels do not fall from input to value, but by folds
//    along the run; a per-peer value feeds per-peer values and one fold only.
// 3. A store's value has its buffer's dtype.
// 4. What is read is an input, or an earlier launch or chunk writes it; every output is written.
// 5. A launch waits for the entry or for earlier launches, chunk by chunk only inside its group,
//    and there for earlier turns; the exit for launches. What is waited for signals.
// 6. A kernel reads a buffer that it writes only at the very element or run that it writes, and not
//    what it writes once a call, if it has runs too: threads take some of its runs each, in any
//    order (kernel/cpu/threads.h). The other launches never.
// 7. Buffers of one slot have disjoint lifetimes, and a peer's accesses make a buffer symmetric.
// 8. A ring is a temporary, no output, whose launches are of one overlapped group; a rank writes no
//    chunk before it has itself touched the one whose place that takes.
// 9. What stands in the caller's memory is an input, a state or an output, and no peer's.
// InternalError that names launch and rule. Pure.
void verify(const Plan& plan);

// The next two go element by element, from type/piece.h, through a plan with sizes: for small ones.
// InternalError that names rank, launch, chunk and element. Requires: verify(*bound.plan).

// Over calls in a row (calls.h), each rank as far ahead of the others as its waits let it:
// 1. Of any two accesses of different ranks to one element, one of them a write, one happens before
//    the other: by each rank's order and by waits.
// 2. A rank's memory is its caller's before it enters and after it returns: nobody else touches it.
//    So what the next call puts there is in no one's way, of whatever sizes it is.
// 3. What satisfies a wait is of the same call, and counters never fall: no signal is taken for
//    another, or is gone before a peer has seen it.
// 4. Every rank comes to the end: no deadlock, inside a call or between two.
void verify_order(const std::vector<BoundCall>& calls);
// Of two calls of these sizes.
void verify_order(const BoundPlan& bound);

// 1. What is read was written, as the buffer and as the element that it is read as.
// 2. A fold over ranks takes the piece of each rank of its operation's axes once.
// 3. What is stored is folded along every axis on which its buffer is neither partial nor local,
//    and is the owner's own piece where it is partial.
// 4. A launch writes an element once: of what is gathered one owner does, of its chunks one.
// 5. In the end every element of the outputs and of updated storage has been written.
void verify_contributions(const BoundPlan& bound);

// All of the above, the last two for some meshes, sizes and numbers of chunks; the calls in a row
// are of different ones.
struct SmallCases {
  int verified = 0;
  // Not verified: of too many elements, as of a matrix with a side of two blocks.
  int too_large = 0;
};
SmallCases verify_small(const Plan& plan);

}  // namespace coconet::plan
