// The text form of a graph (docs/language.md): parses back to an equal graph.
#pragma once

#include <string>

#include "coconet/graph/graph.h"

namespace coconet {

// `mesh`, `dim` and `dtype` declarations, then the program, one named value a line, its type as a
// comment if `with_types`. Groups print as nested `fused NAME { }` and `overlapped NAME { }`; an
// output whose node has another name as `out = gather` before `return out`.
std::string print(const Graph& graph, bool with_types = false);

// The expression of one node, its unnamed inputs inside it: "dropout(rs + b, rate, site=0)".
std::string expression_text(const Graph& graph, NodeId id);

// Graphviz.
std::string dot(const Graph& graph);

}  // namespace coconet
