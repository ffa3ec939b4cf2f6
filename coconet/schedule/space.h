// The iteration space of a fused group: what one kernel runs over.
#pragma once

#include <optional>
#include <string>

#include "coconet/graph/graph.h"
#include "coconet/schedule/region.h"

namespace coconet {

// One shape and layout, and where its rows end if something reduces rows.
class Space {
 public:
  Space(const Graph& graph, const TensorType& type) : graph_(graph), type_(type) {}

  const TensorType& type() const { return type_; }
  std::string text() const;  // "[B,S,H] sliced(0..1)"

  bool is_same(const TensorType& type) const;
  // One element a row, placed alike: [B,S,1].
  bool is_row(const TensorType& type) const;
  // A list of scalars, one for each member of the list that the space is.
  bool is_of_members(const TensorType& type) const;
  // A scalar, or what is broadcast to the space: replicated, or sliced as the space is where they
  // align from the right.
  bool is_broadcast(const TensorType& type) const;

  // Notes that the node, which is in the group, reduces the dims from `first` on. False if another
  // one reduces other dims.
  bool note_rows(int first);

 private:
  const Graph& graph_;
  TensorType type_;
  std::optional<int> rows_end_;
};

// The space of a group's computations alone: the largest of their types. None if all are scalars.
std::optional<TensorType> largest_type(const Graph& graph, const NodeSet& set);

}  // namespace coconet
