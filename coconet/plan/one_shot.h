// Small calls: what may go with the entry to a call, and whether the rest needs other ranks at all.
//
// Exchanged. What peers read of a rank are inputs that nobody writes: their values may be sent with
// the entry, and what is read of a peer is then the copy that came.
// One-shot. Where a kernel works on this rank's slice and writes it to all, each rank may work on
// the whole and write its own memory alone: every element is made by the same statements of the
// same values, so it has the same bits. With all that it reads exchanged, a call waits for nothing
// but the entry.
#pragma once

#include <vector>

#include "coconet/plan/bind.h"

namespace coconet::plan {

// The inputs and states that are read of peers and that no launch writes, whole on every rank; each
// once.
std::vector<BufferId> exchangeable(const Plan& plan);

// The plan may be performed one-shot: no buffer is sliced or rooted, nothing is read of peers but
// what is exchangeable, and peers' buffers are written only by giving every rank the same.
bool allows_one_shot(const Plan& plan);

// The space of a kernel that is performed one-shot: the whole of it.
TensorType one_shot_space(const Kernel& kernel);

// At these sizes one rank would do all of what ranks share, which is work on whole rows, as of a
// matrix of one row: performed one-shot, nobody waits for its results. (Of a block of a flat tensor
// it makes no difference.)
// Requires: allows_one_shot.
bool one_rank_does_all(const BoundPlan& bound);

}  // namespace coconet::plan
