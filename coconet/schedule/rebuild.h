// Rebuilds a graph node by node under a substitution: what every transformation is written with.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coconet/schedule/rewrite.h"

namespace coconet {

// Walk the old graph in order; for each node, copy it or put something in its place; then finish.
class Rebuild {
 public:
  explicit Rebuild(const Graph& before);

  const Graph& before() const { return before_; }
  GraphBuilder& builder() { return builder_; }
  const TensorType& type(NodeId added) const { return builder_.type(added); }

  // What the readers of old node `id` read now. InternalError if it has no place yet.
  NodeId at(NodeId id) const;
  std::vector<NodeId> inputs_of(NodeId id) const;  // at() of each operand

  // The same operation on what its operands are now, under the same name.
  NodeId copy(NodeId id);
  // Adds with every collective visible (graph/expand.h); `name` is made fresh, "" stays "".
  NodeId add(Op op, std::vector<NodeId> inputs, std::string_view name, const Where& where);
  // `wanted`, or wanted with a number, whatever neither graph has.
  std::string fresh(std::string_view wanted) const;
  // Readers of old node `id` read `now`.
  void replace(NodeId id, NodeId now);
  // The new node that handles of old node `id` denote, where that is not what its readers read;
  // invalid: none has its value.
  void forward(NodeId id, NodeId now);
  // Outputs of old node `id` are `now`, where that is not what its readers read.
  void returns(NodeId id, NodeId now);

  // Adds the outputs and the groups of the old graph, then `group` if it is given (its nodes and
  // groups are ids of the old graph), and finishes. Results are in ids of the builder; a result
  // with `group` set denotes the new group.
  Rewrite finish(std::vector<Rewrite::Result> results = {}, const Group* group = nullptr) &&;

 private:
  void copy_group(const Group& group);

  const Graph& before_;
  GraphBuilder builder_;
  std::vector<NodeId> at_;
  std::vector<NodeId> forward_;
  std::vector<NodeId> returned_;  // invalid: at_
};

// The same graph with other names; the rewrite's results stay as they are. UserError(schedule) if
// a name is taken.
struct Renaming {
  std::vector<std::pair<NodeId, std::string>> nodes;
  std::vector<std::pair<GroupId, std::string>> groups;
};
Rewrite rename(const Rewrite& rewrite, const Renaming& renaming);

}  // namespace coconet
