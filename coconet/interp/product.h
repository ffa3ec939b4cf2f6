// Matrix products, convolutions and what bounds the error of computing them otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/interp/value.h"

namespace coconet::interp {

// A rank's piece of a floating matmul or conv2d in f64, not rounded to the output's dtype.
// `magnitude[i]` is the same sum over the |a| |b| that are finite, `terms` the number of products
// in each sum (of a matmul, the rank's part of K).
struct WideProduct {
  std::vector<double> value;
  std::vector<double> magnitude;
  std::int64_t terms = 0;
};

// Requires: node is a Matmul or Conv2d with floating operands; types and values are its inputs'.
WideProduct wide_product(const Node& node, const std::vector<const TensorType*>& types,
                         const std::vector<const Pieces*>& values, const Setting& setting, int rank,
                         bool with_magnitude);

// The elements; or their magnitudes, 0 for those that are not finite.
std::vector<double> widened(DTypeKind kind, const Bytes& bytes, bool magnitudes);
// The values, each rounded once.
Bytes rounded(const std::vector<double>& values, DTypeKind kind);

// |A||B| of every rank's piece of a matmul: `magnitude[i]` of wide_product.
std::vector<std::vector<double>> matmul_magnitude(const Graph& graph, NodeId id,
                                                  const std::vector<const Pieces*>& inputs,
                                                  const Setting& setting);

}  // namespace coconet::interp
