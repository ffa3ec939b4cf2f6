#include "coconet/graph/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>

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

bool folds(PointwiseFn fn) {
  switch (fn) {
    case PointwiseFn::add:
    case PointwiseFn::sub:
    case PointwiseFn::mul:
    case PointwiseFn::div:
    case PointwiseFn::neg:
    case PointwiseFn::lt:
    case PointwiseFn::le:
    case PointwiseFn::gt:
    case PointwiseFn::ge:
    case PointwiseFn::eq:
    case PointwiseFn::ne:
    case PointwiseFn::logical_and:
    case PointwiseFn::logical_or:
    case PointwiseFn::logical_not: return true;
    case PointwiseFn::abs:
    case PointwiseFn::sqrt:
    case PointwiseFn::rsqrt:
    case PointwiseFn::exp:
    case PointwiseFn::log:
    case PointwiseFn::tanh:
    case PointwiseFn::erf:
    case PointwiseFn::relu:
    case PointwiseFn::gelu:
    case PointwiseFn::silu:
    case PointwiseFn::sigmoid:
    case PointwiseFn::pow:
    case PointwiseFn::min:
    case PointwiseFn::max:
    case PointwiseFn::where: return false;
  }
  throw InternalError("a PointwiseFn outside its enumerators");
}

bool keeps_dtype(PointwiseFn fn) {
  switch (fn) {
    case PointwiseFn::add:
    case PointwiseFn::sub:
    case PointwiseFn::mul:
    case PointwiseFn::div:
    case PointwiseFn::neg:
    case PointwiseFn::abs:
    case PointwiseFn::sqrt:
    case PointwiseFn::rsqrt:
    case PointwiseFn::exp:
    case PointwiseFn::log:
    case PointwiseFn::tanh:
    case PointwiseFn::erf:
    case PointwiseFn::relu:
    case PointwiseFn::gelu:
    case PointwiseFn::silu:
    case PointwiseFn::sigmoid:
    case PointwiseFn::pow:
    case PointwiseFn::min:
    case PointwiseFn::max: return true;
    case PointwiseFn::lt:
    case PointwiseFn::le:
    case PointwiseFn::gt:
    case PointwiseFn::ge:
    case PointwiseFn::eq:
    case PointwiseFn::ne:
    case PointwiseFn::logical_and:
    case PointwiseFn::logical_or:
    case PointwiseFn::logical_not:
    case PointwiseFn::where: return false;
  }
  throw InternalError("a PointwiseFn outside its enumerators");
}

namespace {

std::optional<DType> first_known(std::span<const std::optional<DType>> known) {
  for (const std::optional<DType>& dtype : known) {
    if (dtype) return dtype;
  }
  return std::nullopt;
}

std::optional<DType> pointwise_literal_dtype(PointwiseFn fn, int operand,
                                             std::span<const std::optional<DType>> known) {
  if (fn == PointwiseFn::where) {
    return operand == 0 ? std::optional<DType>(boolean) : first_known(known.subspan(1));
  }
  const bool logical = fn == PointwiseFn::logical_and || fn == PointwiseFn::logical_or ||
                       fn == PointwiseFn::logical_not;
  return logical ? std::optional<DType>(boolean) : first_known(known);
}

}  // namespace

std::optional<DType> literal_dtype(const Op& op, int operand,
                                   std::span<const std::optional<DType>> known) {
  if (const Pointwise* pointwise = std::get_if<Pointwise>(&op)) {
    return pointwise_literal_dtype(pointwise->fn, operand, known);
  }
  if (std::holds_alternative<Dropout>(op) && operand == 1) return f32;
  if (std::holds_alternative<LayerNorm>(op) && operand == 3 && known[0]) {
    return DType(accumulator_of(known[0]->kind));  // eps
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
