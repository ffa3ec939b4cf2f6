#include "coconet/io/tensor_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "coconet/base/error.h"

namespace coconet {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are used in place");

// An IEEE binary format of at most 16 bits: sign, exponent, fraction.
struct Float16Format {
  int exponent_bits;
  int fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr Float16Format kHalf{5, 10};
constexpr Float16Format kBfloat{8, 7};

double widen(std::uint16_t bits, Float16Format format) {
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int top = (1 << format.exponent_bits) - 1;
  const int exponent = (bits >> format.fraction_bits) & top;
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == top) {
    return fraction != 0 ? std::copysign(std::numeric_limits<double>::quiet_NaN(), sign)
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int whole = exponent == 0 ? fraction : fraction | (1 << format.fraction_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias() - format.fraction_bits;
  return sign * std::ldexp(static_cast<double>(whole), scale);
}

// Rounds once: going through float would round twice.
std::uint16_t narrow(double value, Float16Format format) {
  const int top = (1 << format.exponent_bits) - 1;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const auto infinity = static_cast<std::uint16_t>(top << format.fraction_bits);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | infinity | (1 << (format.fraction_bits - 1)));
  }
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  if (value == 0) return sign;
  const int smallest = 1 - format.bias();
  const int exponent = std::max(std::ilogb(value), smallest);
  // In units of the last place of that exponent; nearbyint rounds halves to even, and a carry out
  // of the fraction correctly becomes the next exponent in the addition below.
  const double units =
      std::nearbyint(std::ldexp(std::fabs(value), format.fraction_bits - exponent));
  const std::int64_t base = static_cast<std::int64_t>(exponent - smallest) << format.fraction_bits;
  const std::int64_t bits =
      std::min<std::int64_t>(base + static_cast<std::int64_t>(units), infinity);
  return static_cast<std::uint16_t>(sign | bits);
}

template <class T>
T load(const std::vector<std::byte>& bytes, std::int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(std::vector<std::byte>& bytes, std::int64_t i, T value) {
  std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
}

void check_index(const TensorData& data, std::int64_t i) {
  const std::size_t count = data.bytes.size() / static_cast<std::size_t>(size_of(data.dtype));
  if (i >= 0 && static_cast<std::size_t>(i) < count) return;
  throw UserError(ErrorKind::usage, "found element " + std::to_string(i) + " of a tensor of " +
                                        std::to_string(count) + "; the first is 0");
}

}  // namespace

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, dim, &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

std::optional<std::int64_t> byte_count(DTypeKind dtype, std::span<const std::int64_t> shape) {
  const std::optional<std::int64_t> elements = element_count(shape);
  std::int64_t bytes = 0;
  if (!elements ||
      __builtin_mul_overflow(*elements, static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

std::string text_of_shape(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

TensorData TensorData::zeros(DTypeKind dtype, std::vector<std::int64_t> shape) {
  const std::optional<std::int64_t> bytes = byte_count(dtype, shape);
  if (!bytes) {
    throw UserError(ErrorKind::data,
                    fmt::format("a tensor {}{} is too large: its dims must be 0 or more and its "
                                "size at most 2^63 - 1 bytes",
                                name_of(dtype), text_of_shape(shape)));
  }
  return {dtype, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(*bytes))};
}

std::int64_t TensorData::elements() const {
  const std::optional<std::int64_t> count = element_count(shape);
  check(count.has_value(), "the shape of a tensor has an element count");
  return *count;
}

double TensorData::value(std::int64_t i) const {
  check_index(*this, i);
  switch (dtype) {
    case DTypeKind::f16: return widen(load<std::uint16_t>(bytes, i), kHalf);
    case DTypeKind::bf16: return widen(load<std::uint16_t>(bytes, i), kBfloat);
    case DTypeKind::f32: return static_cast<double>(load<float>(bytes, i));
    case DTypeKind::f64: return load<double>(bytes, i);
    case DTypeKind::i32:
    case DTypeKind::i64:
    case DTypeKind::boolean: return static_cast<double>(integer(i));
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

std::int64_t TensorData::integer(std::int64_t i) const {
  check_index(*this, i);
  if (dtype == DTypeKind::i32) return load<std::int32_t>(bytes, i);
  if (dtype == DTypeKind::i64) return load<std::int64_t>(bytes, i);
  check(dtype == DTypeKind::boolean, "integer() reads i32, i64 and bool");
  return load<std::uint8_t>(bytes, i);
}

void TensorData::set_value(std::int64_t i, double value) {
  check_index(*this, i);
  switch (dtype) {
    case DTypeKind::f16: return store(bytes, i, narrow(value, kHalf));
    case DTypeKind::bf16: return store(bytes, i, narrow(value, kBfloat));
    case DTypeKind::f32: return store(bytes, i, static_cast<float>(value));
    case DTypeKind::f64: return store(bytes, i, value);
    case DTypeKind::i32:
    case DTypeKind::i64:
    case DTypeKind::boolean: break;
  }
  // The bounds are exact doubles; NaN fails every comparison.
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::trunc(value)) {
    throw UserError(ErrorKind::data, fmt::format("the value {} cannot be stored as {}: a whole "
                                                 "number in its range is needed",
                                                 value, name_of(dtype)));
  }
  set_integer(i, static_cast<std::int64_t>(value));
}

void TensorData::set_integer(std::int64_t i, std::int64_t value) {
  check_index(*this, i);
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  if (dtype == DTypeKind::i32) {
    low = std::numeric_limits<std::int32_t>::min();
    high = std::numeric_limits<std::int32_t>::max();
  } else if (dtype == DTypeKind::boolean) {
    low = 0;
    high = 1;
  } else {
    check(dtype == DTypeKind::i64, "set_integer() stores i32, i64 and bool");
  }
  if (value < low || value > high) {
    throw UserError(ErrorKind::data, fmt::format("the value {} cannot be stored as {}: {} to {} "
                                                 "is its range",
                                                 value, name_of(dtype), low, high));
  }
  if (dtype == DTypeKind::i32) return store(bytes, i, static_cast<std::int32_t>(value));
  if (dtype == DTypeKind::i64) return store(bytes, i, value);
  store(bytes, i, static_cast<std::uint8_t>(value));
}

}  // namespace coconet
