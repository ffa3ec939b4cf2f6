#include "coconet/graph/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace coconet {

std::string text_of(const LiteralValue& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const std::int64_t* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  const double number = std::get<double>(value);
  check(std::isfinite(number), "a literal is finite");
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  std::string out(buffer, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

namespace {

// The least magnitude that rounds to infinity; the greatest that rounds to 0; the largest value.
struct Range {
  double overflow, underflow;
  const char* largest;
};

Range range_of(DTypeKind kind) {
  switch (kind) {
    case DTypeKind::f16: return {65520.0, std::ldexp(1.0, -25), "65504"};
    case DTypeKind::bf16: return {std::ldexp(511.0, 119), std::ldexp(1.0, -134), "3.38e38"};
    case DTypeKind::f32: return {std::ldexp(33554431.0, 103), std::ldexp(1.0, -150), "3.40e38"};
    case DTypeKind::f64:
    case DTypeKind::i32:
    case DTypeKind::i64:
    case DTypeKind::boolean: return {std::numeric_limits<double>::infinity(), 0.0, "1.79e308"};
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

}  // namespace

std::string needed_by(const DType& dtype, const LiteralValue& value) {
  const bool truth = std::holds_alternative<bool>(value);
  if (dtype.kind == DTypeKind::boolean) {
    return truth ? "" : "true or false; compare to make a truth value of a number";
  }
  if (truth) return "numbers; `where(condition, 1, 0)` makes a number of a truth value";
  const std::int64_t* whole = std::get_if<std::int64_t>(&value);
  if (is_floating(dtype.kind)) {
    const double number = std::fabs(whole ? static_cast<double>(*whole) : std::get<double>(value));
    const Range range = range_of(dtype.kind);
    if (!(number < range.overflow)) {
      return std::string("smaller values: the largest is ") + range.largest;
    }
    if (number != 0 && number <= range.underflow) return "larger values: this one rounds to 0";
    return "";
  }
  if (!whole) return "integers; cast the operand, as in `cast(x, f32)`, to compute with fractions";
  const bool fits = *whole >= std::numeric_limits<std::int32_t>::min() &&
                    *whole <= std::numeric_limits<std::int32_t>::max();
  return fits || dtype.kind == DTypeKind::i64 ? "" : "integers of 32 bits; cast the operand to i64";
}

Constant constant_of(const LiteralValue& value, const DType& dtype, const Where& where) {
  const std::string needed = needed_by(dtype, value);
  if (!needed.empty()) {
    const std::string kind =
        dtype.parameter.empty() ? ", " : " (" + std::string(name_of(dtype.kind)) + "), ";
    const bool number =
        !std::holds_alternative<double>(value) || std::isfinite(std::get<double>(value));
    throw UserError(ErrorKind::type,
                    "the literal " + (number ? text_of(value) : std::string("NaN or infinity")) +
                        " meets an operand of dtype " + dtype.text() + kind + "which takes " +
                        needed,
                    where);
  }
  const std::int64_t* whole = std::get_if<std::int64_t>(&value);
  if (whole && is_floating(dtype.kind)) return {static_cast<double>(*whole), dtype};
  return {value, dtype};
}

std::int64_t bind(const DimSize& size, const Sizes& sizes) {
  const std::int64_t value = size.dim.bind(sizes);
  const std::string needed = needed_by(size.dtype, value);
  if (needed.empty()) return value;
  throw UserError(ErrorKind::data, "size(" + size.dim.text() + ") = " + std::to_string(value) +
                                       " meets an operand of dtype " +
                                       std::string(name_of(size.dtype.kind)) + ", which takes " +
                                       needed);
}

bool folds(PointwiseFn fn) { return !symbol_of(fn).empty(); }

namespace {

std::optional<DType> first_known(std::span<const std::optional<DType>> known) {
  for (const std::optional<DType>& dtype : known) {
    if (dtype) return dtype;
  }
  return std::nullopt;
}

std::optional<DType> pointwise_literal_dtype(PointwiseFn fn, int operand,
                                             std::span<const std::optional<DType>> known) {
  const bool condition = fn == PointwiseFn::where && operand == 0;
  if (condition || domain_of(fn) == Domain::logical) return boolean;
  // The exponent of pow may be i32, which is no dtype for its base.
  const bool base = fn == PointwiseFn::pow && operand == 0;
  if (base && known[1] && !is_floating(known[1]->kind)) return std::nullopt;
  return first_known(fn == PointwiseFn::where ? known.subspan(1) : known);
}

}  // namespace

std::optional<DType> literal_dtype(const Op& op, int operand,
                                   std::span<const std::optional<DType>> known) {
  if (const Pointwise* pointwise = std::get_if<Pointwise>(&op)) {
    return pointwise_literal_dtype(pointwise->fn, operand, known);
  }
  if (std::holds_alternative<Dropout>(op) && operand == 1) return f32;
  const bool eps = (std::holds_alternative<LayerNorm>(op) && operand == 3) ||
                   (std::holds_alternative<RmsNorm>(op) && operand == 2);
  if (eps && known[0]) {
    return DType(accumulator_of(known[0]->kind));
  }
  if (std::holds_alternative<Update>(op) && operand == 1) return known[0];
  return std::nullopt;
}

bool is_literal(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (is_literal(node.op)) return true;
  const Pointwise* pointwise = std::get_if<Pointwise>(&node.op);
  if (!pointwise || !keeps_dtype(pointwise->fn)) return false;
  bool all_constant = true;
  for (NodeId input : node.inputs) {
    const Node& operand = graph.node(input);
    if (!is_written_as_literal(graph, input) || operand.type.dtype != node.type.dtype) return false;
    all_constant = all_constant && std::holds_alternative<Constant>(operand.op);
  }
  return !(all_constant && folds(pointwise->fn));
}

bool is_written_as_literal(const Graph& graph, NodeId id) {
  return graph.node(id).name.empty() && is_literal(graph, id);
}

}  // namespace coconet
