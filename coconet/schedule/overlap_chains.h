// What may be overlapped with what reads it.
#pragma once

#include <string>
#include <vector>

#include "coconet/graph/graph.h"

namespace coconet {

// Names of groups and operations that `overlap` may take together: chains of two to four, each
// reading what the one before it makes, with communication among them. In a fixed order.
std::vector<std::vector<std::string>> overlap_chains(const Graph& graph);

}  // namespace coconet
