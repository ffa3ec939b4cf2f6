// The one order in which the nodes of a finished graph stand.
#pragma once

#include <vector>

#include "coconet/graph/graph.h"

namespace coconet {

// Inputs first; then named nodes in the order in which they were added, except that the members of
// a group stand together and an update after every reader of the storage's old value. Unnamed nodes
// stand right before the named one that contains them, operands left to right; a literal stands
// once for each use. Unnamed nodes that nothing contains are left out. The order of a graph that is
// in this order is its own.
struct CanonicalOrder {
  struct Place {
    NodeId from;                 // the node of the graph that was given
    std::vector<NodeId> inputs;  // in the new numbering
  };
  struct GroupPlace {
    GroupId from;
    std::vector<NodeId> nodes;  // new numbers, with unnamed sub-expressions, ascending
  };
  std::vector<Place> nodes;
  std::vector<GroupPlace> groups;  // members before the groups that hold them
};

// InternalError if groups are in a cycle; UserError if updates are, each with the old value that
// another overwrites inside its own expression.
CanonicalOrder canonical_order(const Graph& graph);

}  // namespace coconet
