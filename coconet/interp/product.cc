#include "coconet/interp/product.h"

#include <cmath>

#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {

WideProduct wide_product(const Node& node, const std::vector<const TensorType*>& types,
                         const std::vector<const Pieces*>& values, const Setting& setting, int rank,
                         bool with_magnitude) {
  const Evaluation e{node, types, values, setting};
  return std::holds_alternative<Conv2d>(node.op) ? wide_conv2d(e, rank, with_magnitude)
                                                 : wide_matmul(e, rank, with_magnitude);
}

std::vector<double> widened(DTypeKind kind, const Bytes& bytes, bool magnitudes) {
  std::vector<double> out(bytes.size() / size_of(kind));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double value = cast(load(kind, bytes.data(), i), DTypeKind::f64).f64;
    const double magnitude = std::isfinite(value) ? std::fabs(value) : 0;
    out[i] = magnitudes ? magnitude : value;
  }
  return out;
}

Bytes rounded(const std::vector<double>& values, DTypeKind kind) {
  Bytes out(values.size() * size_of(kind));
  for (std::size_t i = 0; i < values.size(); ++i)
    store(cast(scalar(values[i]), kind), out.data(), i);
  return out;
}

}  // namespace coconet::interp
