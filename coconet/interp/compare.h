// Comparing values element by element, and a node's value with its meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/interp/scalar.h"
#include "coconet/interp/value.h"

namespace coconet::interp {

// The same bits, or both NaN.
bool same_bits(const ScalarValue& a, const ScalarValue& b);

// Two values at one place of a rank's piece.
struct Difference {
  int rank = 0;
  std::int64_t index = 0;  // in the piece
  ScalarValue got, want;
  std::string text() const;  // "rank 2, element 17: got 1.5, want 1.25"
};

struct Comparison {
  std::optional<Difference> first;  // none: all bits equal
  // The largest |got - want|; infinite where only one of them is NaN or infinite, or where they are
  // infinities of opposite signs.
  double largest = 0;
  bool equal() const { return !first.has_value(); }
};

// Requires: both have the same number of pieces, of the same sizes.
Comparison compare(DTypeKind kind, const Pieces& got, const Pieces& want);
Comparison compare(DTypeKind kind, const Bytes& got, const Bytes& want);  // as rank 0

// Ranks that differ only on axes on which the tensor is replicated hold the same bits: the first
// difference (got) from the lowest such rank (want); none if they do. Requires: pieces of the
// type's sizes.
std::optional<Difference> replica_difference(const TensorType& type, const Setting& setting,
                                             const Pieces& pieces);

// How a node's value relates to its meaning on the given values of its inputs.
struct NodeCheck {
  bool within = true;  // the bits equal; a matmul of floats: within the bound
  std::optional<Difference> first_outside;
  double largest = 0;  // as in Comparison, against the interpreter's value
};

// Each operation is checked on the values that its inputs had. A matmul or conv2d of floats is
// within its bound if, in exact terms, |got - ref| <= (K + 2) 2^-24 (|A||B|) + half a unit in the
// last place of the output dtype, K being the rank's part of it, ref the sum in f64 (2^-53 and f64
// for f64). Sums that may overflow on the way (bound beyond the accumulator's largest value) are
// not judged.
NodeCheck check_node(const Graph& graph, NodeId id, const std::vector<const Pieces*>& inputs,
                     const Pieces& got, const Setting& setting);

}  // namespace coconet::interp
