// The phases of a fused group: a kernel each, parted by the folds of its block sums.
#pragma once

#include <unordered_map>

#include "coconet/graph/walk.h"

namespace coconet {

struct Phases {
  // The phase that has the node's value; -1 outside the group.
  int of(NodeId id) const {
    const auto found = by_node.find(id.index);
    return found == by_node.end() ? -1 : found->second;
  }
  bool has(NodeId id) const { return by_node.contains(id.index); }

  std::unordered_map<int, int> by_node = {};
  int count = 1;
};
// Who folds the blocks of a BlockReduce, or of a reduction of the whole tensor, comes one phase
// later than they are made. Elementwise work on what comes from outside of the group comes when it
// is first read.
// Requires: `members` ascend.
Phases phases_of(const Graph& graph, const std::vector<NodeId>& members);
// The phase whose kernel reads the operands of a member.
int phase_of_reads(const Graph& graph, const Phases& phases, NodeId id);
// A reduction of the whole tensor: its blocks come in one phase, its value in the next.
bool is_tensor_wide(const Op& op);

// Folds a buffer that is not the same on all ranks of these axes.
bool folds_own_buffer(const Node& node, const AxisList& axes);

// A kernel over `space` can store it: it has the space's shape, or one element a row (the last
// dim), placed alike; or it is a scalar, rooted where the space is. Other values are computed again
// in each phase.
bool is_stored_over(const TensorType& space, const TensorType& type);

// What makes the kernel of a phase run row by row: a reduction of rows, or an operand of another
// shape than the space's. Invalid if nothing does.
NodeId row_wise_in(const Graph& graph, const NodeSet& members, const Phases& phases, int phase,
                   const TensorType& space);

}  // namespace coconet
