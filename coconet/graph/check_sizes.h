// What only sizes can say of a program.
#pragma once

#include "coconet/graph/graph.h"

namespace coconet {

// UserError(data), at the place in the program, unless the sizes meet its requirements, every
// narrow and concat fits its dims, members that across folds have its shape, and every root is a
// rank of its axis.
void check_sizes(const Graph& graph, const Sizes& sizes, const MeshSizes& mesh);

}  // namespace coconet
