// Which launches of an overlapped group run chunk by chunk, and what a chunk is.
#pragma once

#include "coconet/plan/plan.h"
#include "coconet/plan/units.h"

namespace coconet::plan {

// The rows that the chunks of an overlapped unit are made of: the slice of its reduce_scatter or
// gather; for an all_reduce that was not split all dims but the last (dim 0 of a vector). `first`
// and `last` are not set.
OverlapGroup chunking_of(const Graph& graph, const Unit& unit);

// A direct all_reduce in an overlapped unit cuts its tensor as the group does.
TensorType space_of_all_reduce(const TensorType& type, const AxisList& axes,
                               const OverlapGroup* group);

// Chunk c of the launch touches chunk c, and no other rows, of whatever the group makes: its
// tensors have the group's rows as leading dims and are cut like the group or not at all along
// them; no reduction goes across rows.
bool can_chunk(const Plan& plan, const Launch& launch, const OverlapGroup& group);

}  // namespace coconet::plan
