// Pointwise functions, cast and dropout.
#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/graph/infer_rules.h"
#include "coconet/type/list.h"

namespace coconet::rules {
namespace {

void need_domain(const Call& call, PointwiseFn fn, const DType& dtype) {
  switch (domain_of(fn)) {
    case Domain::numbers: return need_numbers(call, dtype);
    case Domain::floating: return need_floating(call, dtype);
    case Domain::logical:
      if (dtype.kind != DTypeKind::boolean) {
        refuse(call, "found " + dtype.text() + ", needed bool",
               "compare first, for example x != 0");
      }
      return;
    case Domain::anything: return;
  }
}

DType dtype_of(const Call& call, PointwiseFn fn) {
  const int first = fn == PointwiseFn::where ? 1 : 0;
  const DType& dtype = call.operands[first].dtype;
  need_domain(call, fn, dtype);
  if (first == 1 && call.operands[0].dtype.kind != DTypeKind::boolean) {
    refuse(call, "the first operand of where is " + call.operands[0].dtype.text() + ", needed bool",
           "a comparison, for example where(x > 0, a, b)");
  }
  for (std::size_t i = first + 1; i < call.operands.size(); ++i) {
    const DType& other = call.operands[i].dtype;
    if (fn == PointwiseFn::pow && other == i32) continue;
    need_one_dtype(call, dtype, other, fn == PointwiseFn::pow ? ", or an i32 exponent" : "");
  }
  return compares(fn) ? boolean : dtype;
}

// Right-aligned; only an absent dim or a literal 1 broadcasts.
Shape shape_of(const Call& call) {
  std::size_t rank = 0;
  for (const TensorType& type : call.operands) rank = std::max(rank, type.shape.size());
  Shape shape(rank, Dim(1));
  for (const TensorType& type : call.operands) {
    const std::size_t offset = rank - type.shape.size();
    for (std::size_t d = 0; d < type.shape.size(); ++d) {
      Dim& dim = shape[offset + d];
      if (type.shape[d].is_one() || type.shape[d] == dim) continue;
      if (!dim.is_one()) {
        refuse(call,
               "dims " + dim.text() + " and " + type.shape[d].text() +
                   " meet (shapes align at the right); needed equal dims",
               "an operand whose dim is absent or a literal 1 there broadcasts");
      }
      dim = type.shape[d];
    }
  }
  return shape;
}

// Of operands of which one is a list: members meet members, a list of scalars the members of
// another over its index, one scalar all of them.
TensorType list_shape_of(const Call& call) {
  const TensorType* list = nullptr;
  for (const TensorType& type : call.operands) {
    if (type.is_list() && (!list || list->is_scalar_list())) list = &type;
  }
  const std::string index = list_index(list->shape[0]);
  for (const TensorType& type : call.operands) {
    if (type.is_scalar() || (type.list == list->list && type.shape == list->shape)) continue;
    if (type.is_scalar_list() && list_index(type.shape[0]) == index) continue;
    refuse(call,
           type.text(call.mesh) + " meets " + list->text(call.mesh) +
               "; needed: lists of the same dims",
           "a list of scalars over " + index + ", one for each member, or a scalar for all");
  }
  return *list;
}

void need_whole_if_flat(const Call& call, const Shape& shape) {
  for (const TensorType& type : call.operands) {
    for (int axis : type.layout.slice_order()) {
      if (type.layout.slice(axis).flat && type.shape != shape) {
        refuse(call,
               "an operand that is sliced(*) has shape " + text_of(type.shape) +
                   " but the result " + text_of(shape) +
                   "; needed: the result's shape, as its pieces are cut from the flat index",
               "all_gather it first, or slice it by a dim");
      }
    }
  }
}

std::string reduce_first(const Placement& placement) {
  return "reduce first, for example all_reduce(x, " +
         std::string(name_of(std::get<Partial>(placement).fold)) + ")";
}

[[noreturn]] void refuse_partial_and_other(const Call& call, PointwiseFn fn, int axis) {
  const int partial = std::holds_alternative<Partial>(call.at(0, axis)) ? 0 : 1;
  const Placement& other = call.at(1 - partial, axis);
  const std::string symbol(symbol_of(fn));
  const std::string sum =
      partial == 0 ? "all_reduce(a, +) " + symbol + " b" : "a " + symbol + " all_reduce(b, +)";
  const std::string lift =
      partial == 0 ? "a " + symbol + " as_partial(b, +)" : "as_partial(a, +) " + symbol + " b";
  const bool replicated = std::holds_alternative<Replicated>(other);
  refuse(call,
         call.on(axis) + " one operand is partial(+) and the other " + text_of(other) +
             (replicated ? ", which would be added once per rank" : "") +
             "; needed: both partial(+), or none",
         replicated ? "(1) add after the reduce, " + sum + ", (2) " + lift
                    : "add after the reduce, " + sum);
}

// On an axis where some operand is partial: only what is linear in it.
Placement linear(const Call& call, PointwiseFn fn, int axis) {
  int partials = 0;
  Placement found = Replicated{};
  for (int i = 0; i < static_cast<int>(call.operands.size()); ++i) {
    if (!std::holds_alternative<Partial>(call.at(i, axis))) continue;
    ++partials;
    found = call.at(i, axis);
  }
  const std::string value =
      call.on(axis) + " the value is still " + text_of(found) + ", a fold over the ranks' pieces";
  if (!is_sum(found)) {
    refuse(call, value + ", on which no pointwise operation has a meaning", reduce_first(found));
  }
  if (fn == PointwiseFn::neg) return found;
  if (fn == PointwiseFn::add || fn == PointwiseFn::sub) {
    if (partials == 2) return found;
    refuse_partial_and_other(call, fn, axis);
  }
  if (fn == PointwiseFn::mul && partials == 1) {
    const int other = std::holds_alternative<Partial>(call.at(0, axis)) ? 1 : 0;
    if (std::holds_alternative<Replicated>(call.at(other, axis))) return found;
  }
  if (fn == PointwiseFn::div && std::holds_alternative<Partial>(call.at(0, axis)) &&
      std::holds_alternative<Replicated>(call.at(1, axis))) {
    if (is_floating(call.operands[0].dtype.kind)) return found;
    refuse(call, value + ", and integer division truncates each piece", reduce_first(found));
  }
  if (fn == PointwiseFn::mul || fn == PointwiseFn::div) {
    refuse(call,
           value + "; needed: " + (fn == PointwiseFn::mul ? "the other operand" : "the divisor") +
               " replicated there and only " +
               (fn == PointwiseFn::mul ? "one operand" : "the dividend") + " partial",
           reduce_first(found));
  }
  refuse(call, value + ", and " + std::string(name_of(fn)) + " is not linear in it",
         reduce_first(found));
}

Layout layout_of(const Call& call, PointwiseFn fn, const Shape& shape) {
  std::vector<Layout> operands;
  for (const TensorType& type : call.operands) {
    operands.push_back(moved(type.layout, static_cast<int>(shape.size()) - type.rank()));
  }
  Layout base(call.mesh.size());
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    std::vector<Placement> at;
    bool partial = false;
    for (const Layout& operand : operands) {
      at.push_back(operand.at(axis));
      partial = partial || operand.is<Partial>(axis);
    }
    const Placement placement = partial ? linear(call, fn, axis) : joined(call, axis, at);
    if (!std::holds_alternative<Sliced>(placement)) base = base.with(axis, placement);
  }
  return with_slices(call, base, operands);
}

}  // namespace

TensorType pointwise(const Call& call, const Pointwise& op) {
  need_operands(call, arity_of(op.fn));
  TensorType result;
  result.dtype = dtype_of(call, op.fn);
  if (std::any_of(call.operands.begin(), call.operands.end(),
                  [](const TensorType& type) { return type.is_list(); })) {
    const TensorType like = list_shape_of(call);
    result.shape = like.shape;
    result.list = like.list;
  } else {
    result.shape = shape_of(call);
  }
  need_whole_if_flat(call, result.shape);
  result.layout = layout_of(call, op.fn, result.shape);
  return result;
}

TensorType cast(const Call& call, const Cast& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  for (int axis : x.layout.axes_that_are<Partial>()) {
    if (!is_sum(call.at(0, axis)) || !widens(x.dtype.kind, op.to.kind)) {
      refuse(call,
             call.on(axis) + " the value is still " + text_of(call.at(0, axis)) +
                 ", and a cast to " + op.to.text() +
                 " of the pieces is not the cast of their fold; needed: a reduced value, or a "
                 "widening cast of partial(+)",
             reduce_first(call.at(0, axis)));
    }
  }
  return {op.to, x.shape, x.layout, x.list};
}

TensorType dropout(const Call& call) {
  need_operands(call, 2);
  const TensorType& x = call.operands[0];
  const TensorType& p = call.operands[1];
  need_floating(call, x.dtype);
  if (p.dtype != f32 || !p.is_scalar()) {
    refuse(call, "the probability is " + p.text(call.mesh) + ", needed an f32 scalar",
           "a literal, or `scalar rate: f32`");
  }
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    if (x.layout.is<Partial>(axis)) {
      refuse(call,
             call.on(axis) + " the value is still " + text_of(call.at(0, axis)) +
                 ", and every piece would draw a mask of its own",
             reduce_first(call.at(0, axis)));
    }
    const bool local = p.layout.is<Local>(axis) && x.layout.is<Local>(axis);
    if (!p.layout.is<Replicated>(axis) && !local) {
      refuse(call, call.on(axis) + " the probability is " + text_of(call.at(1, axis)),
             "a replicated probability, or a local one of a local value");
    }
  }
  return x;
}

}  // namespace coconet::rules
