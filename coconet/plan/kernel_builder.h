// Builds the statements of one kernel from graph nodes.
#pragma once

#include <map>
#include <vector>

#include "coconet/graph/walk.h"
#include "coconet/plan/plan.h"
#include "coconet/plan/storage.h"
#include "coconet/schedule/phases.h"

namespace coconet::plan {

class KernelBuilder {
 public:
  // Values of nodes of the region that has these phases that belong to `phase` are computed; all
  // others are loaded from their buffers. So is, over a list, what has one value a member: a kernel
  // over the members has stored it (region.cc).
  KernelBuilder(Plan& plan, Storage& storage, const Phases& phases, int phase, TensorType space);

  ValueId value(NodeId id);             // at the visited element
  ValueId block_sum(NodeId reduction);  // of a BlockReduce, Norm or tensor-wide Reduce: the run's
  void store(ValueId value, BufferId buffer, std::optional<AxisList> all = std::nullopt);
  void store(const Store& store) { kernel_.stores.push_back(store); }
  bool empty() const { return kernel_.stores.empty(); }
  const TensorType& space() const { return kernel_.space; }
  const Kernel& kernel() const { return kernel_; }
  // The kernel, with the run width that its statements need.
  Kernel finish();

 private:
  ValueId add(Statement statement);
  ValueId compute(PointwiseFn fn, std::vector<ValueId> inputs, DType dtype, NodeId origin);
  ValueId cast(ValueId value, DType to, NodeId origin);
  ValueId load(NodeId id);
  ValueId fold_peers(NodeId id, Fold fold, const AxisList& axes);
  ValueId row_norm(NodeId id, bool centred);
  ValueId softmax(NodeId id);
  ValueId stack(NodeId id);
  ValueId row_reduce(NodeId id, const Reduce& reduce);
  ValueId fold_of_blocks(NodeId id);
  ValueId mean_of_blocks(NodeId id, ValueId sum);
  ValueId across(NodeId id, const Across& op);
  ValueId computed(NodeId id);
  ValueId mean_of_run(ValueId value, DType dtype, const Dim& columns, NodeId origin);
  Level level_of(const TensorType& type) const;
  bool differs_among_peers(const Op& op) const;
  bool over_list() const { return kernel_.space.is_list() && !kernel_.space.is_scalar_list(); }
  const Statement& at(ValueId id) const { return kernel_.statements[id.index]; }

  Plan& plan_;
  const Graph& graph_;
  Storage& storage_;
  const Phases& phases_;
  int phase_;
  AxisList fold_axes_;  // not empty while the per-peer value of a fold is built
  Kernel kernel_;
  std::map<std::pair<int, bool>, ValueId> known_;  // (node, per peer)
  bool rows_ = false, blocks_ = false;
};

}  // namespace coconet::plan
