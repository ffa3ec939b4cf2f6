#include "coconet/program/tensor.h"

#include <algorithm>

namespace coconet {
namespace {

using Given = Operand::Given;

std::shared_ptr<Assembler> joined(const std::shared_ptr<Assembler>& a,
                                  const std::shared_ptr<Assembler>& b, const Where& where) {
  if (!a || !b || a == b) return a ? a : b;
  throw UserError(ErrorKind::type, "the operands belong to two programs; use tensors of one",
                  where);
}

AxisList axes_of(const Assembler& assembler, const Axes& names, const Where& where) {
  AxisList out;
  for (const std::string& name : names) {
    const std::optional<int> axis = assembler.mesh().axis(name);
    if (!axis || std::find(out.begin(), out.end(), *axis) != out.end()) {
      throw UserError(
          ErrorKind::type,
          "`" + name + "` " +
              (axis ? "stands twice" : "is not an axis of the mesh " + assembler.mesh().text()),
          where);
    }
    out.push_back(*axis);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Given given(const Over& over) {
  std::vector<int> sorted = over.dims;
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? Given() : Given(std::move(sorted));
}
Given given(const std::optional<DType>& dtype) { return dtype ? Given(*dtype) : Given(); }
Given given(const std::optional<int>& number) {
  return number ? Given(static_cast<std::int64_t>(*number)) : Given();
}
Given given(int number) { return static_cast<std::int64_t>(number); }

}  // namespace

const TensorType& Tensor::type() const {
  if (!assembler_)
    throw UserError(ErrorKind::type, "a literal has no type before it meets a tensor");
  return assembler_->builder().type(assembler_->node_of(value_, "this value", {}));
}

Tensor Operand::pointwise(PointwiseFn fn, const std::vector<Operand>& operands) {
  std::shared_ptr<Assembler> assembler;
  std::vector<Value> values;
  for (const Operand& operand : operands) {
    assembler = joined(assembler, operand.tensor_.assembler_, operand.where_);
    values.push_back(operand.value());
  }
  const Where& where = operands[0].where_;
  Value value = assembler ? assembler->pointwise(fn, std::move(values), where)
                          : Assembler({}).pointwise(fn, std::move(values), where);
  return Tensor(std::move(assembler), std::move(value));
}

Tensor Operand::call(const char* name, const std::vector<Given>& arguments, const Axes& axes) {
  const bool reduces = arguments.size() < 2 || !std::holds_alternative<Operand>(arguments[1]);
  const Signature* function = find_signature(name, reduces);
  check(function != nullptr, "the C++ form calls functions that exist");
  std::shared_ptr<Assembler> assembler;
  std::vector<Assembler::Argument> values;
  Where where;
  for (const Given& argument : arguments) {
    std::visit(Overloaded{[&](const Operand& operand) {
                            if (!where.known()) where = operand.where_;
                            assembler = joined(assembler, operand.tensor_.assembler_, where);
                            values.push_back(operand.value());
                          },
                          [&](const auto& attribute) { values.push_back(attribute); }},
               argument);
  }
  if (!assembler) {
    throw UserError(ErrorKind::type, "`" + std::string(name) + "` on literals alone has no program",
                    where);
  }
  std::optional<AxisList> on;
  if (!axes.empty()) on = axes_of(*assembler, axes, where);
  Value value = assembler->call(*function, values, std::move(on), where);
  return Tensor(std::move(assembler), std::move(value));
}

#define COCONET_UNARY(name, fn) \
  Tensor name(const Operand& x) { return Operand::pointwise(PointwiseFn::fn, {x}); }
#define COCONET_BINARY(name, fn)                        \
  Tensor name(const Operand& a, const Operand& b) {     \
    return Operand::pointwise(PointwiseFn::fn, {a, b}); \
  }
#define COCONET_REDUCTION(name) \
  Tensor name(const Operand& x, const Over& over) { return Operand::call(#name, {x, given(over)}); }

COCONET_BINARY(operator+, add)
COCONET_BINARY(operator-, sub)
COCONET_BINARY(operator*, mul)
COCONET_BINARY(operator/, div)
COCONET_UNARY(operator-, neg)
COCONET_BINARY(operator<, lt)
COCONET_BINARY(operator<=, le)
COCONET_BINARY(operator>, gt)
COCONET_BINARY(operator>=, ge)
COCONET_BINARY(operator==, eq)
COCONET_BINARY(operator!=, ne)
COCONET_BINARY(operator&&, logical_and)
COCONET_BINARY(operator||, logical_or)
COCONET_UNARY(operator!, logical_not)
COCONET_UNARY(abs, abs)
COCONET_UNARY(sqrt, sqrt)
COCONET_UNARY(rsqrt, rsqrt)
COCONET_UNARY(exp, exp)
COCONET_UNARY(log, log)
COCONET_UNARY(tanh, tanh)
COCONET_UNARY(erf, erf)
COCONET_UNARY(relu, relu)
COCONET_UNARY(gelu, gelu)
COCONET_UNARY(silu, silu)
COCONET_UNARY(sigmoid, sigmoid)
COCONET_BINARY(pow, pow)
COCONET_BINARY(min, min)
COCONET_BINARY(max, max)
COCONET_REDUCTION(sum)
COCONET_REDUCTION(max)
COCONET_REDUCTION(min)
COCONET_REDUCTION(prod)
COCONET_REDUCTION(mean)

#undef COCONET_UNARY
#undef COCONET_BINARY
#undef COCONET_REDUCTION

Tensor where(const Operand& condition, const Operand& x, const Operand& y) {
  return Operand::pointwise(PointwiseFn::where, {condition, x, y});
}

Tensor cast(const Operand& x, const DType& dtype) { return Operand::call("cast", {x, dtype}); }

Tensor dropout(const Operand& x, const Operand& p, std::optional<int> site) {
  return Operand::call("dropout", {x, p, given(site)});
}

Tensor matmul(const Operand& a, const Operand& b, std::optional<DType> out) {
  return matmul(a, b, Transposed{}, out);
}

Tensor matmul(const Operand& a, const Operand& b, const Transposed& transposed,
              std::optional<DType> out) {
  return Operand::call("matmul", {a, b, transposed.a, transposed.b, given(out)});
}

Tensor conv2d(const Operand& x, const Operand& w, const Conv2dOptions& options) {
  return Operand::call("conv2d", {x, w, given(options.stride), given(options.padding),
                                  options.size ? Given(*options.size) : Given()});
}

Tensor norm(const Operand& x, std::optional<DType> out) {
  return Operand::call("norm", {x, given(out)});
}

Tensor layer_norm(const Operand& x, const Operand& gamma, const Operand& beta, const Operand& eps) {
  return Operand::call("layer_norm", {x, gamma, beta, eps});
}

Tensor across(const Operand& x, Fold fold, const Shape& size) {
  return Operand::call("across", {x, fold, size.empty() ? Given() : Given(size)});
}

Tensor rms_norm(const Operand& x, const Operand& gamma, const Operand& eps) {
  return Operand::call("rms_norm", {x, gamma, eps});
}

Tensor softmax(const Operand& x, const Over& over) {
  return Operand::call("softmax", {x, given(over)});
}

Tensor transpose(const Operand& x, const std::vector<int>& order) {
  return Operand::call("transpose", {x, order});
}

Tensor reshape(const Operand& x, const Shape& shape) {
  return Operand::call("reshape", {x, shape});
}

Tensor narrow(const Operand& x, int dim, const Dim& start, const Dim& length) {
  return Operand::call("narrow", {x, given(dim), start, length});
}

Tensor concat(const std::vector<Operand>& operands, int dim, std::optional<Dim> size) {
  if (operands.empty()) throw UserError(ErrorKind::type, "a concat has at least one operand");
  std::vector<Given> arguments(operands.begin(), operands.end());
  arguments.push_back(given(dim));
  arguments.push_back(size ? Given(*size) : Given());
  return Operand::call("concat", arguments);
}

Tensor update(const Operand& storage, const Operand& value) {
  return Operand::call("update", {storage, value});
}

Tensor all_reduce(const Operand& x, Fold fold, const Axes& axes) {
  return Operand::call("all_reduce", {x, fold}, axes);
}

Tensor reduce_scatter(const Operand& x, Fold fold, const Slice& slice, const Axes& axes) {
  return Operand::call("reduce_scatter", {x, fold, slice}, axes);
}

Tensor all_gather(const Operand& x, const Axes& axes) {
  return Operand::call("all_gather", {x}, axes);
}

Tensor reduce(const Operand& x, Fold fold, int root, const Axes& axes) {
  return Operand::call("reduce", {x, fold, given(root)}, axes);
}

Tensor broadcast(const Operand& x, std::optional<int> root, const Axes& axes) {
  return Operand::call("broadcast", {x, given(root)}, axes);
}

Tensor shard(const Operand& x, const Slice& slice, const Axes& axes) {
  return Operand::call("shard", {x, slice}, axes);
}

Tensor root(const Operand& x, int root, const Axes& axes) {
  return Operand::call("root", {x, given(root)}, axes);
}

Tensor as_partial(const Operand& x, Fold fold, const Axes& axes) {
  return Operand::call("as_partial", {x, fold}, axes);
}

Tensor shift(const Operand& x, const std::string& axis, int by, bool wrap) {
  return Operand::call("shift", {x, {}, given(by), wrap ? given(1) : Given()}, {axis});
}

Tensor all_to_all(const Operand& x, const Slice& from, const Slice& to, const Axes& axes) {
  return Operand::call("all_to_all", {x, from, to}, axes);
}

Tensor stack(const Operand& x, const Axes& axes) { return Operand::call("stack", {x}, axes); }

}  // namespace coconet
