#include "coconet/graph/op.h"

#include "coconet/base/error.h"

namespace coconet {
namespace {

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
                               [](const Conv2d&) -> Name { return "conv2d"; },
                               [](const Reduce& r) -> Name { return name_of(r.fn); },
                               [](const Norm&) -> Name { return "norm"; },
                               [](const LayerNorm&) -> Name { return "layer_norm"; },
                               [](const RmsNorm&) -> Name { return "rms_norm"; },
                               [](const Softmax&) -> Name { return "softmax"; },
                               [](const Transpose&) -> Name { return "transpose"; },
                               [](const Reshape&) -> Name { return "reshape"; },
                               [](const Narrow&) -> Name { return "narrow"; },
                               [](const Concat&) -> Name { return "concat"; },
                               [](const BlockReduce& b) -> Name { return block_name_of(b); },
                               [](const FoldBlocks&) -> Name { return "fold"; },
                               [](const Across&) -> Name { return "across"; },
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

std::string_view word_of(const Op& op) {
  const Pointwise* pointwise = std::get_if<Pointwise>(&op);
  return pointwise ? word_of(pointwise->fn) : name_of(op);
}

bool is_literal(const Op& op) {
  return std::holds_alternative<Constant>(op) || std::holds_alternative<AxisSize>(op) ||
         std::holds_alternative<DimSize>(op);
}

bool is_movement(const Op& op) {
  return std::holds_alternative<Transpose>(op) || std::holds_alternative<Reshape>(op) ||
         std::holds_alternative<Narrow>(op) || std::holds_alternative<Concat>(op);
}

bool is_product(const Op& op) {
  return std::holds_alternative<Matmul>(op) || std::holds_alternative<Conv2d>(op);
}

std::int64_t places_of(const Conv2d& op, std::int64_t size, std::int64_t window) {
  const std::int64_t padded = size + 2 * std::int64_t{op.padding};
  return padded < window ? 0 : (padded - window) / op.stride + 1;
}

bool works_on_rows(const Op& op) {
  return std::holds_alternative<LayerNorm>(op) || std::holds_alternative<RmsNorm>(op) ||
         std::holds_alternative<Softmax>(op);
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
