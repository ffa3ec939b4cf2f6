#include "coconet/interp/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "coconet/base/error.h"
#include "coconet/interp/interpreter.h"
#include "coconet/interp/product.h"

namespace coconet::interp {
namespace {

std::string text_of_value(const ScalarValue& value) {
  if (value.kind == DTypeKind::boolean) return value.boolean ? "true" : "false";
  if (value.kind == DTypeKind::i32) return std::to_string(value.i32);
  if (value.kind == DTypeKind::i64) return std::to_string(value.i64);
  char buffer[40];
  const int digits = value.kind == DTypeKind::f64 ? 17 : 9;
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, to_double(value));
  return buffer;
}

double distance(const ScalarValue& got, const ScalarValue& want) {
  if (same_bits(got, want)) return 0;
  const double difference = std::fabs(to_double(got) - to_double(want));
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

struct FloatFormat {
  int significand;  // bits, the implicit one included
  int lowest_exponent, highest_exponent;
};

FloatFormat format_of(DTypeKind kind) {
  switch (kind) {
    case DTypeKind::f16: return {11, -14, 15};
    case DTypeKind::bf16: return {8, -126, 127};
    case DTypeKind::f32: return {24, -126, 127};
    case DTypeKind::f64: return {53, -1022, 1023};
    case DTypeKind::i32:
    case DTypeKind::i64:
    case DTypeKind::boolean: break;
  }
  throw InternalError("a floating format of a kind that is not floating");
}

// The distance of neighbouring values of the format around x.
double unit_in_last_place(const FloatFormat& format, double x) {
  int exponent = format.lowest_exponent;
  if (x != 0) exponent = std::max(exponent, std::ilogb(x));
  return std::ldexp(1.0, std::min(exponent, format.highest_exponent) - format.significand + 1);
}

bool within_bound(DTypeKind kind, const ScalarValue& got, double reference, double magnitude,
                  std::int64_t terms) {
  double value = to_double(got);
  const FloatFormat format = format_of(kind);
  const FloatFormat accumulator = format_of(accumulator_of(kind));
  const double steps = static_cast<double>(terms) + 2;
  const double sum_bound = steps * std::ldexp(magnitude, -accumulator.significand);
  const double highest = std::ldexp(1.0, accumulator.highest_exponent);
  // What is added up may leave the accumulator's range, in an order that is not known.
  const bool may_overflow = !(magnitude + sum_bound < highest);
  if (!std::isfinite(reference) && std::isfinite(magnitude)) {  // as an operand is not finite
    return std::isnan(value) ? std::isnan(reference) || may_overflow : value == reference;
  }
  if (!std::isfinite(value) && may_overflow) return true;
  if (!std::isfinite(reference) || std::isnan(value)) return false;
  if (std::isinf(value)) {  // as if the next exponent existed, and none beyond
    const double end = std::ldexp(1.0, format.highest_exponent) * 2;
    value = std::copysign(end, value);
    reference = std::clamp(reference, -end, end);
  }
  const double largest = std::max(std::fabs(value), std::fabs(reference));
  // Units that multiply bf16 give zero for what is below the normal numbers.
  const int subnormal = kind == DTypeKind::bf16 ? 0 : accumulator.significand - 1;
  const double smallest = std::ldexp(1.0, std::max(-1074, accumulator.lowest_exponent - subnormal));
  const double bound = sum_bound + unit_in_last_place(format, largest) / 2 + steps * smallest;
  return std::fabs(value - reference) <= bound;
}

void compare_into(DTypeKind kind, int rank, const Bytes& got, const Bytes& want, Comparison* out) {
  check(got.size() == want.size(), "pieces that are compared have one size");
  const std::int64_t count = static_cast<std::int64_t>(got.size()) / size_of(kind);
  for (std::int64_t i = 0; i < count; ++i) {
    const ScalarValue a = load(kind, got.data(), i), b = load(kind, want.data(), i);
    if (same_bits(a, b)) continue;
    if (!out->first) out->first = Difference{rank, i, a, b};
    out->largest = std::max(out->largest, distance(a, b));
  }
}

NodeCheck check_product(const Node& node, const std::vector<const TensorType*>& types,
                        const std::vector<const Pieces*>& inputs, const Pieces& got,
                        const Setting& setting) {
  NodeCheck out;
  const DTypeKind kind = node.type.dtype.kind;
  for (int rank = 0; rank < setting.mesh.ranks(); ++rank) {
    const WideProduct wide = wide_product(node, types, inputs, setting, rank, true);
    check(got[rank].size() == wide.value.size() * size_of(kind),
          "pieces that are compared have one size");
    for (std::size_t i = 0; i < wide.value.size(); ++i) {
      const ScalarValue value = load(kind, got[rank].data(), i);
      const ScalarValue want = cast(scalar(wide.value[i]), kind);
      out.largest = std::max(out.largest, distance(value, want));
      if (within_bound(kind, value, wide.value[i], wide.magnitude[i], wide.terms)) continue;
      out.within = false;
      if (!out.first_outside) {
        out.first_outside = Difference{rank, static_cast<std::int64_t>(i), value, want};
      }
    }
  }
  return out;
}

}  // namespace

bool same_bits(const ScalarValue& a, const ScalarValue& b) {
  check(a.kind == b.kind, "values that are compared have one dtype");
  switch (a.kind) {
    case DTypeKind::f16:
    case DTypeKind::bf16:
    case DTypeKind::f32:
      return (std::isnan(a.f32) && std::isnan(b.f32)) ||
             std::bit_cast<std::uint32_t>(a.f32) == std::bit_cast<std::uint32_t>(b.f32);
    case DTypeKind::f64:
      return (std::isnan(a.f64) && std::isnan(b.f64)) ||
             std::bit_cast<std::uint64_t>(a.f64) == std::bit_cast<std::uint64_t>(b.f64);
    case DTypeKind::i32: return a.i32 == b.i32;
    case DTypeKind::i64: return a.i64 == b.i64;
    case DTypeKind::boolean: return a.boolean == b.boolean;
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

std::string Difference::text() const {
  return "rank " + std::to_string(rank) + ", element " + std::to_string(index) + ": got " +
         text_of_value(got) + ", want " + text_of_value(want);
}

Comparison compare(DTypeKind kind, const Pieces& got, const Pieces& want) {
  check(got.size() == want.size(), "values that are compared have one number of pieces");
  Comparison out;
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    compare_into(kind, static_cast<int>(rank), got[rank], want[rank], &out);
  }
  return out;
}

Comparison compare(DTypeKind kind, const Bytes& got, const Bytes& want) {
  Comparison out;
  compare_into(kind, 0, got, want, &out);
  return out;
}

std::optional<Difference> replica_difference(const TensorType& type, const Setting& setting,
                                             const Pieces& pieces) {
  check(pieces.size() == static_cast<std::size_t>(setting.mesh.ranks()), "one piece for each rank");
  for (int rank = 0; rank < setting.mesh.ranks(); ++rank) {
    std::vector<int> lowest = setting.mesh.coordinates(rank);
    for (int axis : type.layout.axes_that_are<Replicated>()) lowest[axis] = 0;
    Comparison comparison;
    compare_into(type.dtype.kind, rank, pieces[rank], pieces[setting.mesh.rank(lowest)],
                 &comparison);
    if (!comparison.equal()) return comparison.first;
  }
  return std::nullopt;
}

NodeCheck check_node(const Graph& graph, NodeId id, const std::vector<const Pieces*>& inputs,
                     const Pieces& got, const Setting& setting) {
  const Node& node = graph.node(id);
  check(got.size() == static_cast<std::size_t>(setting.mesh.ranks()), "one piece for each rank");
  if (is_product(node.op) && is_floating(node.type.dtype.kind)) {
    std::vector<const TensorType*> types;
    for (NodeId input : node.inputs) types.push_back(&graph.node(input).type);
    return check_product(node, types, inputs, got, setting);
  }
  const Comparison comparison =
      compare(node.type.dtype.kind, got, evaluate(graph, id, inputs, setting));
  return {comparison.equal(), comparison.first, comparison.largest};
}

}  // namespace coconet::interp
