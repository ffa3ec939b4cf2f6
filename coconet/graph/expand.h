// Adds operations to a graph with every collective they need visible.
#pragma once

#include "coconet/graph/graph.h"

namespace coconet {

// As builder.add; but norm, mean, tensor-wide reductions and layer_norm over sliced dims become the
// equivalent nodes with the collective they need: norm(x sliced(*)) =
// sqrt(fold(all_gather(block_squares(x)))), sum(x sliced(*)) = fold(all_gather(block_sums(x))),
// norm(x sliced(d)) = sqrt(all_reduce(sum(x * x))), ... Where (*) cuts what other slices left, its
// axes are gathered first. An f32 eps of an f64 layer_norm is cast. The last node gets `name`.
// Programs and rewrites add nodes with this.
NodeId add_visible(GraphBuilder& builder, Op op, std::vector<NodeId> inputs, std::string name = "",
                   Where where = {});

}  // namespace coconet
