// How the operands of a computation follow it to the slices or to the root.
#pragma once

#include <optional>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/schedule/rebuild.h"

namespace coconet {

// The operations that place a value, replicated on `axes`, as `like` is placed there: shard(x,
// slice)@axes or root(x, r)@axes, one for each different slice, in the order in which the axes cut.
// Dims are counted from the last; none if the value does not span the sliced dims of `like`, or if
// `like` is placed on `axes` in another way.
std::optional<std::vector<Op>> spread_ops(const TensorType& value, const TensorType& like,
                                          const AxisList& axes);

// True if the type is sliced or rooted on one of `axes`.
bool is_spread(const TensorType& type, const AxisList& axes);
// True if it is replicated on all of them.
bool is_whole(const TensorType& type, const AxisList& axes);

// Adds `ops` after `value`, without names. A shard of a gather of what is placed so already is the
// gather's operand.
NodeId add_spread(GraphBuilder& builder, NodeId value, const std::vector<Op>& ops,
                  const Where& where);

// Adds the gather or broadcast that makes `value` whole on `axes` again; the value itself if it is
// whole.
NodeId add_whole(Rebuild& rebuild, NodeId value, const AxisList& axes, std::string_view name,
                 const Where& where);

}  // namespace coconet
