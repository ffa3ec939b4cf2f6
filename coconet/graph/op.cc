#include "coconet/graph/op.h"

#include <array>

#include "coconet/base/error.h"

namespace coconet {
namespace {

struct FnFacts {
  PointwiseFn fn;
  std::string_view name;
  std::string_view symbol;
  int arity;
};

constexpr std::array kFns = {
    FnFacts{PointwiseFn::add, "add", "+", 2},
    FnFacts{PointwiseFn::sub, "sub", "-", 2},
    FnFacts{PointwiseFn::mul, "mul", "*", 2},
    FnFacts{PointwiseFn::div, "div", "/", 2},
    FnFacts{PointwiseFn::neg, "neg", "-", 1},
    FnFacts{PointwiseFn::abs, "abs", "", 1},
    FnFacts{PointwiseFn::sqrt, "sqrt", "", 1},
    FnFacts{PointwiseFn::rsqrt, "rsqrt", "", 1},
    FnFacts{PointwiseFn::exp, "exp", "", 1},
    FnFacts{PointwiseFn::log, "log", "", 1},
    FnFacts{PointwiseFn::tanh, "tanh", "", 1},
    FnFacts{PointwiseFn::erf, "erf", "", 1},
    FnFacts{PointwiseFn::relu, "relu", "", 1},
    FnFacts{PointwiseFn::gelu, "gelu", "", 1},
    FnFacts{PointwiseFn::silu, "silu", "", 1},
    FnFacts{PointwiseFn::sigmoid, "sigmoid", "", 1},
    FnFacts{PointwiseFn::pow, "pow", "", 2},
    FnFacts{PointwiseFn::min, "min", "", 2},
    FnFacts{PointwiseFn::max, "max", "", 2},
    FnFacts{PointwiseFn::lt, "lt", "<", 2},
    FnFacts{PointwiseFn::le, "le", "<=", 2},
    FnFacts{PointwiseFn::gt, "gt", ">", 2},
    FnFacts{PointwiseFn::ge, "ge", ">=", 2},
    FnFacts{PointwiseFn::eq, "eq", "==", 2},
    FnFacts{PointwiseFn::ne, "ne", "!=", 2},
    FnFacts{PointwiseFn::logical_and, "logical_and", "and", 2},
    FnFacts{PointwiseFn::logical_or, "logical_or", "or", 2},
    FnFacts{PointwiseFn::logical_not, "logical_not", "not", 1},
    FnFacts{PointwiseFn::where, "where", "", 3},
};

const FnFacts& facts_of(PointwiseFn fn) {
  for (const FnFacts& facts : kFns) {
    if (facts.fn == fn) return facts;
  }
  throw InternalError("a PointwiseFn outside its enumerators");
}

std::string_view block_name_of(const BlockReduce& op) {
  if (op.of_squares) return "block_squares";
  switch (op.fold) {
    case Fold::sum: return "block_sums";
    case Fold::max: return "block_max";
    case Fold::min: return "block_min";
    case Fold::prod: return "block_prod";
  }
  throw InternalError("a Fold outside its enumerators");
}

}  // namespace

std::string_view name_of(PointwiseFn fn) { return facts_of(fn).name; }
std::string_view symbol_of(PointwiseFn fn) { return facts_of(fn).symbol; }
int arity_of(PointwiseFn fn) { return facts_of(fn).arity; }

std::string_view name_of(ReduceFn fn) {
  switch (fn) {
    case ReduceFn::sum: return "sum";
    case ReduceFn::max: return "max";
    case ReduceFn::min: return "min";
    case ReduceFn::prod: return "prod";
    case ReduceFn::mean: return "mean";
  }
  throw InternalError("a ReduceFn outside its enumerators");
}

std::optional<Fold> fold_of(ReduceFn fn) {
  switch (fn) {
    case ReduceFn::sum: return Fold::sum;
    case ReduceFn::max: return Fold::max;
    case ReduceFn::min: return Fold::min;
    case ReduceFn::prod: return Fold::prod;
    case ReduceFn::mean: return std::nullopt;
  }
  throw InternalError("a ReduceFn outside its enumerators");
}

std::string_view name_of(const Op& op) {
  using Name = std::string_view;
  return std::visit(Overloaded{[](const Input&) -> Name { return "input"; },
                               [](const Constant&) -> Name { return "constant"; },
                               [](const AxisSize&) -> Name { return "size"; },
                               [](const DimSize&) -> Name { return "size"; },
                               [](const Pointwise& p) -> Name { return name_of(p.fn); },
                               [](const Cast&) -> Name { return "cast"; },
                               [](const Dropout&) -> Name { return "dropout"; },
                               [](const Matmul&) -> Name { return "matmul"; },
                               [](const Reduce& r) -> Name { return name_of(r.fn); },
                               [](const Norm&) -> Name { return "norm"; },
                               [](const LayerNorm&) -> Name { return "layer_norm"; },
                               [](const BlockReduce& b) -> Name { return block_name_of(b); },
                               [](const FoldBlocks&) -> Name { return "fold"; },
                               [](const Update&) -> Name { return "update"; },
                               [](const AllReduce&) -> Name { return "all_reduce"; },
                               [](const ReduceScatter&) -> Name { return "reduce_scatter"; },
                               [](const AllGather&) -> Name { return "all_gather"; },
                               [](const ReduceTo&) -> Name { return "reduce"; },
                               [](const Broadcast&) -> Name { return "broadcast"; },
                               [](const Shard&) -> Name { return "shard"; },
                               [](const RootOf&) -> Name { return "root"; },
                               [](const AsPartial&) -> Name { return "as_partial"; },
                               [](const Shift&) -> Name { return "shift"; },
                               [](const AllToAll&) -> Name { return "all_to_all"; },
                               [](const Stack&) -> Name { return "stack"; }},
                    op);
}

bool is_literal(const Op& op) {
  return std::holds_alternative<Constant>(op) || std::holds_alternative<AxisSize>(op) ||
         std::holds_alternative<DimSize>(op);
}

bool is_communication(const Op& op) {
  return std::holds_alternative<AllReduce>(op) || std::holds_alternative<ReduceScatter>(op) ||
         std::holds_alternative<AllGather>(op) || std::holds_alternative<ReduceTo>(op) ||
         std::holds_alternative<Broadcast>(op) || is_send(op);
}

bool is_send(const Op& op) {
  return std::holds_alternative<Shift>(op) || std::holds_alternative<AllToAll>(op);
}

AxisList axes_of(const Op& op) {
  return std::visit(
      [](const auto& payload) -> AxisList {
        if constexpr (requires { payload.axes; }) {
          return payload.axes;
        } else {
          return {};
        }
      },
      op);
}

}  // namespace coconet
