// A whole tensor on the host, as files hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coconet/type/dtype.h"

namespace coconet {

// The product of the dims, or nothing if a dim is negative or the product of the dims that are not
// 0 exceeds 2^63 - 1 (so that strides fit too). No dims: 1.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);

// element_count times the dtype's size, or nothing if it exceeds 2^63 - 1.
std::optional<std::int64_t> byte_count(DTypeKind dtype, std::span<const std::int64_t> shape);

// "[2, 3]".
std::string text_of_shape(std::span<const std::int64_t> shape);

// Row-major, little-endian. Invariant: bytes.size() == byte_count(dtype, shape). A bool is one
// byte, 0 or 1.
struct TensorData {
  DTypeKind dtype = DTypeKind::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  // All zero. Throws UserError (data) if the size overflows.
  static TensorData zeros(DTypeKind dtype, std::vector<std::int64_t> shape);

  std::int64_t elements() const;

  // Element i of the row-major order. An i64 beyond 2^53 is rounded; integer() is exact.
  double value(std::int64_t i) const;
  // Requires: dtype is i32, i64 or boolean.
  std::int64_t integer(std::int64_t i) const;

  // Stores `value`, rounded once, to nearest even. Throws UserError (data) if an integer dtype or
  // bool cannot hold it: it has a fraction, is NaN, or is out of range.
  void set_value(std::int64_t i, double value);
  void set_integer(std::int64_t i, std::int64_t value);

  friend bool operator==(const TensorData&, const TensorData&) = default;  // bit for bit
};

}  // namespace coconet
