// The graph cut into what is lowered together, in an order that every rank can follow.
#pragma once

#include <vector>

#include "coconet/graph/graph.h"

namespace coconet::plan {

// Nodes of one kernel region: a fused group, or a single node.
struct Member {
  std::vector<NodeId> nodes;  // ascending
  GroupId fused;              // invalid for a single node
};

// A member, or the members of an overlapped group in the order of their dependencies.
struct Unit {
  std::vector<Member> members;
  GroupId overlapped;  // invalid otherwise
};

// All nodes but inputs, constants and sizes, in an order in which every node stands after what it
// reads, and every update after all readers of the old value. InternalError if there is none
// (graph/verify.h refuses such graphs).
std::vector<Unit> units_of(const Graph& graph);

}  // namespace coconet::plan
