// The iteration space of a fused group: what one kernel runs over.
#pragma once

#include <optional>
#include <string>

#include "coconet/graph/graph.h"
#include "coconet/schedule/region.h"

namespace coconet {

// One shape and layout.
class Space {
 public:
  Space(const Graph& graph, const TensorType& type) : graph_(graph), type_(type) {}
  // Of a fused group.
  Space(const Graph& graph, const TensorType& type, const NodeSet& members);

  const TensorType& type() const { return type_; }
  std::string text() const;  // "[B,S,H] sliced(0..1)"

  bool is_same(const TensorType& type) const;
  // A list of scalars, one for each member of the list that the space is, placed as the space is if
  // that is one too, else as the group's first: the members have one kernel.
  bool is_of_members(const TensorType& type) const;
  // A dropout of another shape than the space: its mask goes by the elements of its own value.
  bool masks_otherwise(const Node& node) const;
  // A scalar, or what is broadcast to the space: replicated, or sliced as the space is where they
  // align from the right.
  bool is_broadcast(const TensorType& type) const;

 private:
  const Graph& graph_;
  TensorType type_;
  std::optional<Layout> of_members_;  // of the group's first list of scalars
};

// An all_gather of block sums, which is inside a phase's computation.
bool is_gather_of_blocks(const Graph& graph, NodeId id);

// The space of a fused group: what its reduce_scatter gives, else what its first gather, or
// its first send, takes, else the largest of its types. None if all are scalars.
std::optional<TensorType> space_of_fused(const Graph& graph, const NodeSet& members);

}  // namespace coconet
