// Reductions inside a tensor: over dims, tensor-wide, norms, block sums.
#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/graph/infer_rules.h"
#include "coconet/type/list.h"

namespace coconet::rules {
namespace {

// What a result that keeps the accumulator's precision has: never a dtype parameter, so that it
// stays right when the parameter is bound anew.
DType accumulator(const DType& dtype) { return accumulator_of(dtype.kind); }

// A partial operand stays partial under its own reduction; mean is linear as the sum is.
Placement of_partial(const Call& call, int axis, std::optional<Fold> fold) {
  const Fold found = std::get<Partial>(call.at(0, axis)).fold;
  if (fold && *fold == found) return Partial{found};
  const std::string name(name_of(found));
  refuse(call,
         call.on(axis) + " the value is still partial(" + name +
             "), a fold over the ranks' pieces, and " + std::string(name_of(call.op)) +
             " of the pieces is not that of their fold",
         std::string(name_of(call.op)) + "(all_reduce(x, " + name + "))");
}

void check_dims(const Call& call, const std::vector<int>& dims) {
  check(std::is_sorted(dims.begin(), dims.end()), "reduced dims ascend");
  const auto twice = std::adjacent_find(dims.begin(), dims.end());
  if (twice != dims.end()) {
    refuse(call, "dim " + std::to_string(*twice) + " stands twice", "each dim once");
  }
  for (int d : dims) {
    if (d < 0 || d >= call.operands[0].rank()) {
      refuse(
          call, "there is no dim " + std::to_string(d),
          "the dims of the operand, numbered 0 to " + std::to_string(call.operands[0].rank() - 1));
    }
  }
}

Placement of_slice(const Call& call, const Reduce& op, int axis) {
  const Slice& slice = call.operands[0].layout.slice(axis);
  const auto reduced = [&](int d) {
    return op.dims.empty() || std::find(op.dims.begin(), op.dims.end(), d) != op.dims.end();
  };
  if (slice.flat) {
    if (op.dims.empty()) {
      refuse(call,
             call.on(axis) +
                 " the operand is sliced(*), and a fold of the ranks' sums would "
                 "depend on their number",
             "fold(all_gather(block_sums(x))), which a program gets when it writes " +
                 std::string(name_of(op.fn)) + "(x)");
    }
    refuse(call,
           call.on(axis) +
               " the operand is sliced(*), whose pieces do not follow the dims; "
               "needed: whole, or sliced by dims",
           "all_gather it first, reduce over all of it, or slice it by dims that are not reduced");
  }
  int inside = 0;
  for (int d = slice.first; d <= slice.last; ++d) inside += reduced(d) ? 1 : 0;
  if (inside == 0) return Sliced{slice};
  if (inside < slice.last - slice.first + 1) {
    refuse(call,
           call.on(axis) + " slice " + slice.text() +
               " takes dims as one index, of which only some are reduced",
           "reduce over all of them, or all_gather first");
  }
  if (op.fn == ReduceFn::mean) {
    refuse(call,
           call.on(axis) + " the mean is over dims that are sliced" + slice.text() +
               ", so it needs a collective",
           "all_reduce(sum(x, dims), +) / size(dims), which a program gets when it writes mean");
  }
  return Partial{*fold_of(op.fn)};
}

}  // namespace

TensorType reduce(const Call& call, const Reduce& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  op.fn == ReduceFn::mean ? need_floating(call, x.dtype) : need_numbers(call, x.dtype);
  check_dims(call, op.dims);
  TensorType result{x.dtype, {}, Layout(call.mesh.size())};
  if (x.is_list()) result = of_members(x, x.dtype);
  result.layout = Layout(call.mesh.size());
  if (!op.dims.empty()) {
    result.shape = x.shape;
    for (int d : op.dims) result.shape[d] = Dim(1);
  }
  const std::optional<Fold> fold = op.fn == ReduceFn::mean ? Fold::sum : fold_of(op.fn);
  // Slices in the order in which they cut; the others after.
  AxisList order = x.layout.slice_order();
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    if (!x.layout.is<Sliced>(axis)) order.push_back(axis);
  }
  for (int axis : order) {
    Placement placement = x.layout.at(axis);
    if (x.layout.is<Sliced>(axis)) placement = of_slice(call, op, axis);
    if (x.layout.is<Partial>(axis)) placement = of_partial(call, axis, fold);
    result.layout = result.layout.with(axis, placement);
  }
  return result;
}

TensorType norm(const Call& call, const Norm& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  need_floating(call, x.dtype);
  if (op.out && !is_floating(op.out->kind)) {
    refuse(call, "out is " + op.out->text() + ", needed a floating dtype", "out=f32");
  }
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    if (x.layout.is<Partial>(axis)) of_partial(call, axis, std::nullopt);
    if (x.layout.is<Sliced>(axis)) {
      refuse(call, call.on(axis) + " the operand is sliced, so the norm needs a collective",
             "sqrt(fold(all_gather(block_squares(x)))) of sliced(*), sqrt(all_reduce(sum(x * x), "
             "+)) of other slices, which a program gets when it writes norm(x)");
    }
  }
  const DType dtype = op.out.value_or(x.dtype);
  return x.is_list() ? of_members(x, dtype) : TensorType{dtype, {}, x.layout};
}

namespace {

void need_dims(const Call& call) {
  if (!call.operands[0].shape.empty()) return;
  refuse(call, "a scalar has no last dim", "a tensor of one dim or more");
}

// Of x, `weights` weights over the last dim, and eps.
TensorType row_norm(const Call& call, int weights) {
  need_operands(call, weights + 2);
  const TensorType& x = call.operands[0];
  need_floating(call, x.dtype);
  need_dims(call);
  for (int i = 1; i <= weights; ++i) {
    const TensorType& weight = call.operands[i];
    const std::string name = i == 1 ? "gamma" : "beta";
    if (weight.dtype != x.dtype || weight.shape != Shape{x.shape.back()}) {
      refuse(call,
             name + " is " + weight.text(call.mesh) + ", needed " + x.dtype.text() +
                 text_of(Shape{x.shape.back()}),
             "weights over the last dim in the operand's dtype");
    }
  }
  const TensorType& eps = call.operands[weights + 1];
  if (!eps.is_scalar() || eps.dtype != accumulator(x.dtype)) {
    refuse(call,
           "eps is " + eps.text(call.mesh) + ", needed a scalar of " + accumulator(x.dtype).text() +
               ", in which the norm is computed",
           "a literal, or a scalar of that dtype");
  }
  Layout base(call.mesh.size());
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    if (x.layout.is<Partial>(axis)) of_partial(call, axis, std::nullopt);
    if (x.layout.is<Sliced>(axis) && x.layout.slice(axis).has(x.rank() - 1)) {
      refuse(call,
             call.on(axis) + " the operand is sliced" + x.layout.slice(axis).text() +
                 ", which cuts the last dim, over which the norm goes",
             "all_gather it first, or slice it by its rows");
    }
    std::vector<Placement> at = {x.layout.at(axis)};
    for (int i = 1; i <= weights + 1; ++i) {
      if (std::holds_alternative<Partial>(call.at(i, axis)) ||
          std::holds_alternative<Sliced>(call.at(i, axis))) {
        refuse(call,
               call.on(axis) + (weights == 2 ? " gamma, beta or eps is " : " gamma or eps is ") +
                   text_of(call.at(i, axis)) + ", needed replicated",
               "all_gather or all_reduce it first");
      }
      at.push_back(call.at(i, axis));
    }
    const Placement placement = joined(call, axis, at);
    if (!std::holds_alternative<Sliced>(placement)) base = base.with(axis, placement);
  }
  return {x.dtype, x.shape, with_slices(call, base, {x.layout})};
}

}  // namespace

TensorType layer_norm(const Call& call) { return row_norm(call, 2); }
TensorType rms_norm(const Call& call) { return row_norm(call, 1); }

TensorType softmax(const Call& call, const Softmax& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  need_floating(call, x.dtype);
  need_dims(call);
  check_dims(call, op.dims);
  const std::vector<int> last = {x.rank() - 1};
  const std::vector<int>& dims = op.dims.empty() ? last : op.dims;
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    if (x.layout.is<Partial>(axis)) of_partial(call, axis, std::nullopt);
    if (!x.layout.is<Sliced>(axis)) continue;
    const Slice& slice = x.layout.slice(axis);
    if (std::none_of(dims.begin(), dims.end(), [&](int d) { return slice.has(d); })) continue;
    refuse(call,
           call.on(axis) + " the operand is sliced" + slice.text() +
               ", which cuts dims over which the softmax goes together with others",
           "all_gather it first, or slice it by other dims, or by those dims alone");
  }
  if (dims != last) {
    refuse(call, "the softmax is over other dims than the last",
           "exp(x - max(x, dims)) / sum(exp(x - max(x, dims)), dims), which a program gets when it "
           "writes softmax(x, dims)");
  }
  return x;
}

TensorType block_reduce(const Call& call, const BlockReduce& op) {
  need_operands(call, 1);
  check(!op.of_squares || op.fold == Fold::sum, "squares are summed");
  const TensorType& x = call.operands[0];
  op.of_squares ? need_floating(call, x.dtype) : need_numbers(call, x.dtype);
  TensorType result{
      accumulator(x.dtype), {Dim::blocks(product_of(x.shape))}, Layout(call.mesh.size())};
  for (int axis : x.layout.slice_order()) {
    if (!x.layout.slice(axis).flat) {
      refuse(call,
             call.on(axis) + " the operand is sliced" + x.layout.slice(axis).text() +
                 ", whose pieces are no whole blocks of the flat index",
             "slices (*) only, or all_gather that axis first");
    }
    result.layout = result.layout.with(axis, Sliced{Slice::dim(0)});
  }
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    if (x.layout.is<Sliced>(axis)) continue;
    Placement placement = x.layout.at(axis);
    if (x.layout.is<Partial>(axis)) {
      placement = of_partial(call, axis, op.of_squares ? std::nullopt : std::optional(op.fold));
    }
    result.layout = result.layout.with(axis, placement);
  }
  return result;
}

TensorType fold_blocks(const Call& call, const FoldBlocks& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  op.mean ? need_floating(call, x.dtype) : need_numbers(call, x.dtype);
  if (op.mean && op.fold != Fold::sum) {
    refuse(call, "a mean is of sums; found " + std::string(name_of(op.fold)),
           "fold(block_sums(x), +, mean=true)");
  }
  if (x.rank() != 1 || !x.shape[0].is_blocks()) {
    refuse(call, "needed a vector of block sums",
           "fold(block_sums(x)), or " +
               std::string(op.fold == Fold::sum ? "sum" : name_of(op.fold)) +
               "(x) of all elements");
  }
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    if (x.layout.is<Partial>(axis)) of_partial(call, axis, op.fold);
    if (x.layout.is<Sliced>(axis)) {
      refuse(call, call.on(axis) + " the block sums are sliced, needed all of them",
             "fold(all_gather(x))");
    }
  }
  return x.shape[0].is_packed() ? of_members(x, x.dtype) : TensorType{x.dtype, {}, x.layout};
}

namespace {

// The shape that `size` says all members of the list have: theirs, with a dim of one size for each
// that is numbered by member.
const Shape& common_shape(const Call& call, const Across& op) {
  const Shape& member = *call.operands[0].list;
  const std::string index = list_index(call.operands[0].shape[0]);
  const std::string needed = "needed: the shape that all members have, " + text_of(member) +
                             " with a dim of one size for each that is numbered by " + index;
  if (!op.size) {
    refuse(call, "its members may differ in size; " + needed,
           "across(x, +, size=[...]), checked when sizes are bound; or one scalar for each member "
           "first, as across(norm(x), +)");
  }
  bool fits = op.size->size() == member.size();
  for (std::size_t d = 0; fits && d < member.size(); ++d) {
    const bool numbered = list_index(member[d]) == index;
    const Dim& size = (*op.size)[d];
    fits = numbered ? list_index(size) != index : size == member[d];
  }
  if (!fits) {
    refuse(call, "found size=" + text_of(*op.size) + "; " + needed,
           "as size=[N,H] of members [N_i,H]");
  }
  return *op.size;
}

}  // namespace

TensorType across(const Call& call, const Across& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  need_numbers(call, x.dtype);
  if (!x.is_list()) {
    refuse(call, "needed a list, whose members fold to one",
           "a list, as norm of the members of one");
  }
  for (int axis : x.layout.axes_that_are<Partial>()) of_partial(call, axis, op.fold);
  if (x.is_scalar_list()) {
    if (op.size) refuse(call, "the members are scalars, which have no size", "across(x, +)");
    return {x.dtype, {}, x.layout};
  }
  if (const AxisList& slices = x.layout.slice_order(); !slices.empty()) {
    refuse(call,
           call.on(slices[0]) +
               " the members are sliced(*), so their elements of one place are on "
               "different ranks",
           "across(all_gather(x), +, size=[...]), or one scalar for each member first, as "
           "across(norm(x), +)");
  }
  return {x.dtype, common_shape(call, op), x.layout};
}

}  // namespace coconet::rules
