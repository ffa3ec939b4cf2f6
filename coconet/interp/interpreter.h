// The meaning of a graph: plain loops over N simulated ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/type/piece.h"

namespace coconet::interp {

// What a graph runs on. Rank r's coordinates follow from `mesh`.
struct Setting {
  Sizes sizes;
  MeshSizes mesh;
  std::uint64_t seed = 0;
  std::uint64_t call_number = 0;
};

// One rank's piece of a tensor: dense, in its dtype's storage.
using Bytes = std::vector<std::byte>;
// pieces[rank] of one tensor.
using Pieces = std::vector<Bytes>;

// The elements that `rank` holds of a tensor of this type.
Piece piece_of(const TensorType& type, const Setting& setting, int rank);

struct Result {
  std::map<std::string, Pieces> outputs;  // by output name
  std::map<std::string, Pieces> storage;  // new values of updated states and inputs, by input name
  std::vector<Pieces> values;             // of every node, by node index
};

// Inputs by name: every Input node needs its pieces (a scalar with a default may be left out).
// UserError(data) for a missing input or a piece of the wrong size.
Result run(const Graph& graph, const std::map<std::string, Pieces>& inputs, const Setting& setting);

// The value of one node from the values of its inputs, all ranks: what `run` does for each node in
// order.
Pieces evaluate(const Graph& graph, NodeId id, const std::vector<const Pieces*>& inputs,
                const Setting& setting);

}  // namespace coconet::interp
