// A graph under other bindings of its dtype parameters.
#pragma once

#include <map>
#include <string>

#include "coconet/graph/graph.h"

namespace coconet {

// The graph with the dtype parameters bound anew (`--dtype T=f32`); those not given keep theirs.
// Every node is inferred again. UserError(type) for a parameter that the graph does not have, or
// where an operation has no meaning on the new dtype.
Graph rebind_dtypes(const Graph& graph, const std::map<std::string, DTypeKind>& bindings);

}  // namespace coconet
