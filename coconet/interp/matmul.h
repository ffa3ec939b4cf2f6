// Matrix products and what bounds the error of computing them otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/interp/value.h"

namespace coconet::interp {

// A rank's piece of a floating matmul in f64, not rounded to the output's dtype. `magnitude[i]` is
// the same sum over |a| |b|, `terms` the number of products in each sum (the rank's part of K).
struct WideProduct {
  std::vector<double> value;
  std::vector<double> magnitude;
  std::int64_t terms = 0;
};

// Requires: node is a Matmul with floating operands; types and values are its inputs'.
WideProduct wide_matmul(const Node& node, const std::vector<const TensorType*>& types,
                        const std::vector<const Pieces*>& values, const Setting& setting, int rank,
                        bool with_magnitude);

// |A||B| of every rank's piece: `magnitude[i]` of wide_matmul.
std::vector<std::vector<double>> matmul_magnitude(const Graph& graph, NodeId id,
                                                  const std::vector<const Pieces*>& inputs,
                                                  const Setting& setting);

}  // namespace coconet::interp
