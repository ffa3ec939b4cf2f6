#include "coconet/graph/infer.h"

#include "coconet/base/error.h"
#include "coconet/graph/infer_rules.h"
#include "coconet/graph/literal.h"

namespace coconet {
namespace {

using rules::Call;

TensorType of_input(const Call& call, const Input& op) {
  rules::need_operands(call, 0);
  validate(op.type, call.mesh);
  const bool scalar = op.kind == InputKind::scalar;
  check(!scalar || (op.type.is_scalar() && op.type.layout.all_replicated()),
        "a scalar is 0-dimensional and replicated");
  check(scalar || !op.default_value, "only a scalar has a default");
  return op.type;
}

TensorType of_constant(const Call& call, const Constant& op) {
  rules::need_operands(call, 0);
  constant_of(op.value, op.dtype, {});  // the dtype can hold it
  return {op.dtype, {}, Layout(call.mesh.size())};
}

TensorType of_size(const Call& call, const DType& dtype) {
  rules::need_operands(call, 0);
  if (dtype.kind == DTypeKind::boolean) {
    throw UserError(ErrorKind::type,
                    "size() is a number but meets bool; legal: cast the other operand first");
  }
  return {dtype, {}, Layout(call.mesh.size())};
}

TensorType by_rule(const Call& call) {
  return std::visit(
      Overloaded{[&](const Input& o) { return of_input(call, o); },
                 [&](const Constant& o) { return of_constant(call, o); },
                 [&](const AxisSize& o) {
                   check(o.axis >= 0 && o.axis < call.mesh.size(), "an axis of the mesh");
                   return of_size(call, o.dtype);
                 },
                 [&](const DimSize& o) { return of_size(call, o.dtype); },
                 [&](const Pointwise& o) { return rules::pointwise(call, o); },
                 [&](const Cast& o) { return rules::cast(call, o); },
                 [&](const Dropout&) { return rules::dropout(call); },
                 [&](const Matmul& o) { return rules::matmul(call, o); },
                 [&](const Conv2d& o) { return rules::conv2d(call, o); },
                 [&](const Reduce& o) { return rules::reduce(call, o); },
                 [&](const Norm& o) { return rules::norm(call, o); },
                 [&](const LayerNorm&) { return rules::layer_norm(call); },
                 [&](const RmsNorm&) { return rules::rms_norm(call); },
                 [&](const Softmax& o) { return rules::softmax(call, o); },
                 [&](const Transpose& o) { return rules::transpose(call, o); },
                 [&](const Reshape& o) { return rules::reshape(call, o); },
                 [&](const Narrow& o) { return rules::narrow(call, o); },
                 [&](const Concat& o) { return rules::concat(call, o); },
                 [&](const BlockReduce& o) { return rules::block_reduce(call, o); },
                 [&](const FoldBlocks& o) { return rules::fold_blocks(call, o); },
                 [&](const Across& o) { return rules::across(call, o); },
                 [&](const Update&) { return rules::update(call); },
                 [&](const AllReduce& o) { return rules::all_reduce(call, o); },
                 [&](const ReduceScatter& o) { return rules::reduce_scatter(call, o); },
                 [&](const AllGather& o) { return rules::all_gather(call, o); },
                 [&](const ReduceTo& o) { return rules::reduce_to(call, o); },
                 [&](const Broadcast& o) { return rules::broadcast(call, o); },
                 [&](const Shard& o) { return rules::shard(call, o); },
                 [&](const RootOf& o) { return rules::root_of(call, o); },
                 [&](const AsPartial& o) { return rules::as_partial(call, o); },
                 [&](const Shift&) { return rules::shift(call); },
                 [&](const AllToAll& o) { return rules::all_to_all(call, o); },
                 [&](const Stack&) { return rules::stack(call); }},
      call.op);
}

}  // namespace

TensorType infer(const Op& op, std::span<const TensorType> inputs, const Mesh& mesh,
                 Requirements requirements) {
  const Call call{op, inputs, mesh, requirements};
  rules::check_lists(call);
  TensorType type = by_rule(call);
  try {
    validate(type, mesh);
  } catch (const UserError& error) {
    throw UserError(ErrorKind::type, call.text() + ": " + error.message());
  }
  return type;
}

namespace {

struct Wanted {
  std::string needed;
  AxisList axes;
};

Wanted wanted_axes(const Op& op, const Layout& layout) {
  if (std::holds_alternative<AllGather>(op)) return {"sliced", layout.axes_that_are<Sliced>()};
  if (const AllToAll* exchange = std::get_if<AllToAll>(&op)) {
    AxisList axes = layout.axes_that_are<Sliced>();
    std::erase_if(axes, [&](int axis) { return !(layout.slice(axis) == exchange->from); });
    return {"sliced" + exchange->from.text(), std::move(axes)};
  }
  if (std::holds_alternative<Stack>(op)) return {"local", layout.axes_that_are<Local>()};
  if (const Broadcast* broadcast = std::get_if<Broadcast>(&op)) {
    if (broadcast->root) return {"local", layout.axes_that_are<Local>()};
    return {"rooted", layout.axes_that_are<Rooted>()};
  }
  if (std::holds_alternative<AllReduce>(op) || std::holds_alternative<ReduceScatter>(op) ||
      std::holds_alternative<ReduceTo>(op)) {
    AxisList partial = layout.axes_that_are<Partial>();
    return {"partial or local",
            partial.empty() ? layout.axes_that_are<Local>() : std::move(partial)};
  }
  return {"replicated", layout.axes_that_are<Replicated>()};
}

}  // namespace

AxisList only_axes_for(const Op& op, const TensorType& operand, const Mesh& mesh) {
  if (mesh.size() == 1) return {0};  // inference says what is wrong with it, if anything is
  const Wanted wanted = wanted_axes(op, operand.layout);
  if (wanted.axes.size() == 1) return wanted.axes;
  const std::string word(name_of(op));
  const std::string found = word + "(" + operand.text(mesh) + ") without an axis: ";
  if (wanted.axes.empty()) {
    throw UserError(ErrorKind::type, found + "no axis is " + wanted.needed +
                                         "; needed: exactly one that is; legal: none here, as "
                                         "there is nothing for " +
                                         word + " to do");
  }
  std::string choices;
  for (int axis : wanted.axes)
    choices += (choices.empty() ? "" : ", ") + text_of_axes(mesh, {axis});
  throw UserError(ErrorKind::type, found + "several axes are " + wanted.needed +
                                       "; needed: the axes named; legal: " + choices + " or " +
                                       text_of_axes(mesh, wanted.axes));
}

}  // namespace coconet
