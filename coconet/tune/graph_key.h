// When two scheduled graphs are the same but for names.
#pragma once

#include <string>

#include "coconet/graph/graph.h"

namespace coconet::tune {

// Equal for graphs that have the same operations on the same inputs in the same groups, whatever
// their values and groups are called and in which order they were made. Of different ones it
// differs, as far as a 64-bit hash can tell.
std::uint64_t graph_key(const Graph& graph);

}  // namespace coconet::tune
