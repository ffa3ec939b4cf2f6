// The slice of a split that names none.
#pragma once

#include "coconet/schedule/rewrite.h"

namespace coconet {

// The slice on `axes` of a replicated value, or of what an all_reduce over them makes: the row dims
// (0..k-1), where k is the number of
// dims but the last if a matmul makes the value (through pointwise operations), and no more than
// the first dim that a row reduction or layer_norm after it reduces. If neither says where rows
// end, or there are none: the whole as one index, (*), if everything that follows up to the next
// collective accepts it; otherwise a refusal that names what does not. Literal 1 dims at the ends
// are left out. Of a list (*), as it has no other.
Verdict<Slice> default_slice(const Graph& graph, NodeId value, const AxisList& axes);

}  // namespace coconet
