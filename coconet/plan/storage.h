// Which buffer holds the value of each node.
#pragma once

#include <vector>

#include "coconet/graph/walk.h"
#include "coconet/plan/plan.h"
#include "coconet/plan/units.h"

namespace coconet::plan {

// The vector of block sums that a BlockReduce, Norm or tensor-wide Reduce folds.
TensorType block_sums_type(const Graph& graph, NodeId reduction);

// Gives nodes their buffers in a plan under construction. A value `e` of `p2 = update(p, e)` is
// written straight into p's storage when every reader of the old p comes before, or reads in the
// same kernel the very element that is written.
class Storage {
 public:
  Storage(Plan& plan, const std::vector<Unit>& units, bool keep_values);

  // The buffer that holds the value of `id` (not of a view); made at the first call.
  BufferId buffer(NodeId id);
  bool has_buffer(NodeId id) const { return buffers_[id.index].valid(); }
  // A temporary of its own.
  BufferId temporary(std::string name, const TensorType& type);
  // The block sums of a Norm or tensor-wide Reduce; made at the first call.
  BufferId blocks(NodeId reduction);
  // The graph's readers, by node, and which nodes are outputs: known once for all members.
  const std::vector<NodeId>& readers(NodeId id) const { return readers_[id.index]; }
  bool is_output(NodeId id) const { return outputs_[id.index]; }
  // True for an update whose value is not written in place, so that it needs a copy.
  bool needs_copy(NodeId update) const;

 private:
  void place_updates(const std::vector<Unit>& units);
  bool in_place(NodeId update, const std::vector<const Member*>& member_of,
                const std::vector<int>& unit_of);

  Plan& plan_;
  bool keep_values_;
  std::vector<std::vector<NodeId>> readers_;
  NodeSet outputs_;
  std::vector<BufferId> buffers_;  // by node
  std::vector<BufferId> blocks_;   // by node, of reductions
  std::vector<NodeId> stored_by_;  // by node: the update whose storage holds its value
  std::vector<bool> copied_;       // by node, of updates
};

}  // namespace coconet::plan
