// The meaning of a graph: plain loops over N simulated ranks.
//
// Each operation of an element is: widen, one f32 (or f64, integer) operation, round to nearest
// even to the declared dtype (interp/scalar.h). Every rank computes on its own piece; only
// communication reads other ranks' pieces. Matmul accumulates in f64, in the order of k, and rounds
// once: it is the reference that compiled code approaches within the bound of interp/compare.h;
// everything else compiled code equals bit for bit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/interp/value.h"

namespace coconet::interp {

struct Result {
  std::map<std::string, Pieces> outputs;  // by output name
  std::map<std::string, Pieces> storage;  // new values of updated states and inputs, by input name
  std::vector<Pieces> values;             // of every node, by node index
};

// Inputs by name: every Input node needs its pieces (a scalar with a default may be left out).
// UserError(data) for a missing input, one that the graph does not have, or a piece of the wrong
// size; for a size or a mesh that with_axes refuses; for a root that is no rank of its axis; and
// for a dropout probability outside [0, 1].
Result run(const Graph& graph, const std::map<std::string, Pieces>& inputs, const Setting& setting);

// What `run` does first. UserError(data) for a name that is no input's; for an input whose pieces
// are missing, without a default, or of the wrong size. Requires: the node is an Input.
void check_names(const Graph& graph, const std::map<std::string, Pieces>& inputs);
Pieces input_value(const Graph& graph, NodeId id, const std::map<std::string, Pieces>& inputs,
                   const Setting& setting);

// The value of one node from the values of its inputs, all ranks: what `run` does for each node in
// order. Requires: the node is not an Input; inputs[i] are the pieces of its i-th input.
Pieces evaluate(const Graph& graph, NodeId id, const std::vector<const Pieces*>& inputs,
                const Setting& setting);

}  // namespace coconet::interp
