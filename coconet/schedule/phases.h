// The phases of a fused group: a kernel each, parted by the folds of its block sums.
#pragma once

#include "coconet/graph/walk.h"

namespace coconet {

struct Phases {
  std::vector<int> of;  // by node: the phase that has its value; -1 outside the group
  int count = 1;
};
// Who folds the blocks of a BlockReduce, or of a reduction of the whole tensor, comes one phase
// later than they are made.
Phases phases_of(const Graph& graph, const NodeSet& members);
// The phase whose kernel reads the operands of a member.
int phase_of_reads(const Graph& graph, const Phases& phases, NodeId id);
// A reduction of the whole tensor: its blocks come in one phase, its value in the next.
bool is_tensor_wide(const Op& op);

// A kernel over `space` can store it: it has the space's shape, or one element a row (the last
// dim), placed alike; or it is a scalar. Other values are computed again in each phase.
bool is_stored_over(const TensorType& space, const TensorType& type);

// What makes the kernel of a phase run row by row: a reduction of rows, or an operand of another
// shape than the space's. Invalid if nothing does.
NodeId row_wise_in(const Graph& graph, const NodeSet& members, const Phases& phases, int phase,
                   const TensorType& space);

}  // namespace coconet
