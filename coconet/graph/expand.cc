#include "coconet/graph/expand.h"

#include <algorithm>

namespace coconet {
namespace {

// Adds the nodes of one expansion; they all have the place of what is expanded.
class Expansion {
 public:
  Expansion(GraphBuilder& builder, const Where& where) : builder_(builder), where_(where) {}

  NodeId add(Op op, std::vector<NodeId> inputs) {
    return builder_.add(std::move(op), std::move(inputs), "", where_);
  }
  NodeId pointwise(PointwiseFn fn, std::vector<NodeId> inputs) {
    return add(Pointwise{fn}, std::move(inputs));
  }
  // As it is if it has that dtype.
  NodeId cast_to(const DType& dtype, NodeId x) {
    return builder_.type(x).dtype == dtype ? x : add(Cast{dtype}, {x});
  }
  // In the dtype in which it accumulates; never a dtype parameter, which may be bound to another.
  NodeId widened(NodeId x) { return cast_to(accumulator(x), x); }
  DType accumulator(NodeId x) const { return accumulator_of(builder_.type(x).dtype.kind); }
  NodeId divided_by_size(NodeId x, const Dim& count) {
    const NodeId size = add(DimSize{count, builder_.type(x).dtype}, {});
    return pointwise(PointwiseFn::div, {x, size});
  }
  // fold(all_gather(blocks)), in the accumulator's dtype.
  NodeId folded_blocks(NodeId x, const BlockReduce& blocks, bool mean = false) {
    const AxisList axes = builder_.type(x).layout.axes_that_are<Sliced>();
    const NodeId sums = add(blocks, {x});
    return add(FoldBlocks{blocks.fold, mean}, {gathered(sums, axes)});
  }
  NodeId gathered(NodeId x, AxisList axes) { return add(AllGather{std::move(axes)}, {x}); }
  // all_reduce(sum(x, dims)) over the axes that slice the dims, or of another reduction.
  NodeId reduced(NodeId x, const std::vector<int>& dims, ReduceFn fn = ReduceFn::sum) {
    const AxisList partial = builder_.type(x).layout.axes_that_are<Partial>();
    const NodeId here = add(Reduce{fn, dims}, {x});
    AxisList axes = builder_.type(here).layout.axes_that_are<Partial>();
    std::erase_if(axes, [&](int axis) {
      return std::find(partial.begin(), partial.end(), axis) != partial.end();
    });
    return axes.empty() ? here : add(AllReduce{*fold_of(fn), axes}, {here});
  }

 private:
  GraphBuilder& builder_;
  const Where& where_;
};

enum class Cut { none, flat, dims };

// How the slices of `x` cut the dims (no dims: the whole tensor).
Cut cut_of(const TensorType& x, const std::vector<int>& dims) {
  Cut cut = Cut::none;
  for (int axis : x.layout.slice_order()) {
    const Slice& slice = x.layout.slice(axis);
    if (slice.flat) return Cut::flat;
    const bool inside = std::any_of(dims.begin(), dims.end(), [&](int d) { return slice.has(d); });
    if (dims.empty() || inside) cut = Cut::dims;
  }
  return cut;
}

// The axes that slice `x` by (*), if others cut it before: the flat index, and so its blocks, is of
// the piece that these leave, and how many there are does not follow from the dims.
AxisList flat_within_others(const TensorType& x) {
  AxisList flat;
  for (int axis : x.layout.slice_order()) {
    if (x.layout.slice(axis).flat) flat.push_back(axis);
  }
  if (flat.size() == x.layout.slice_order().size()) return {};
  std::sort(flat.begin(), flat.end());
  return flat;
}

bool any_partial(const TensorType& x) { return !x.layout.axes_that_are<Partial>().empty(); }

NodeId expand_norm(Expansion e, const TensorType& type, const Norm& op, NodeId x) {
  NodeId squares;
  if (cut_of(type, {}) == Cut::flat) {
    squares = e.folded_blocks(x, {Fold::sum, true});
  } else {
    const NodeId wide = e.widened(x);
    squares = e.reduced(e.pointwise(PointwiseFn::mul, {wide, wide}), {});
  }
  return e.cast_to(op.out.value_or(type.dtype), e.pointwise(PointwiseFn::sqrt, {squares}));
}

NodeId expand_reduce(Expansion e, const TensorType& type, const Reduce& op, NodeId x) {
  NodeId value;
  const bool mean_of_members = op.fn == ReduceFn::mean && type.is_list();
  if (cut_of(type, op.dims) == Cut::flat) {
    value = e.folded_blocks(x, {fold_of(op.fn).value_or(Fold::sum), false}, mean_of_members);
  } else {
    value = e.reduced(e.widened(x), op.dims);
  }
  if (op.fn == ReduceFn::mean && !mean_of_members) {
    Shape over = type.shape;
    if (!op.dims.empty()) {
      over.clear();
      for (int d : op.dims) over.push_back(type.shape[d]);
    }
    value = e.divided_by_size(value, product_of(over));
  }
  return e.cast_to(type.dtype, value);
}

// What is still partial is not rounded to the operand's dtype piece by piece.
void need_wide(const GraphBuilder& builder, const TensorType& x, const Reduce& op,
               const Where& where) {
  const AxisList partial = x.layout.axes_that_are<Partial>();
  const DTypeKind wide = accumulator_of(x.dtype.kind);
  if (partial.empty() || x.dtype == DType(wide)) return;
  const Fold fold = std::get<Partial>(x.layout.at(partial[0])).fold;
  const std::string word(name_of(op.fn));
  const std::string cast =
      fold == Fold::sum ? ", or " + word + "(cast(x, " + std::string(name_of(wide)) + "))" : "";
  throw UserError(
      ErrorKind::type,
      word + "(" + x.text(builder.mesh()) + "): block sums are " + std::string(name_of(wide)) +
          ", and what is still partial cannot be rounded to " + x.dtype.text() +
          "; legal: " + word + "(all_reduce(x, " + std::string(name_of(fold)) + "))" + cast,
      where);
}

// layer_norm, centred, or rms_norm.
NodeId expand_row_norm(Expansion e, const TensorType& type, const std::vector<NodeId>& inputs) {
  const int last = type.rank() - 1;
  const bool centred = inputs.size() == 4;
  NodeId x = e.widened(inputs[0]);
  if (centred) {
    const NodeId mean = e.divided_by_size(e.reduced(x, {last}), type.shape.back());
    x = e.pointwise(PointwiseFn::sub, {x, mean});
  }
  const NodeId squares = e.pointwise(PointwiseFn::mul, {x, x});
  const NodeId variance = e.divided_by_size(e.reduced(squares, {last}), type.shape.back());
  const NodeId scale =
      e.pointwise(PointwiseFn::rsqrt, {e.pointwise(PointwiseFn::add, {variance, inputs.back()})});
  const NodeId unit = e.pointwise(PointwiseFn::mul, {x, scale});
  NodeId out = e.pointwise(PointwiseFn::mul, {unit, e.widened(inputs[1])});
  if (centred) out = e.pointwise(PointwiseFn::add, {out, e.widened(inputs[2])});
  return e.cast_to(type.dtype, out);
}

NodeId expand_softmax(Expansion e, const TensorType& type, const std::vector<int>& dims, NodeId x) {
  const NodeId wide = e.widened(x);
  const NodeId largest = e.reduced(wide, dims, ReduceFn::max);
  const NodeId shifted = e.pointwise(PointwiseFn::sub, {wide, largest});
  const NodeId powers = e.pointwise(PointwiseFn::exp, {shifted});
  return e.cast_to(type.dtype, e.pointwise(PointwiseFn::div, {powers, e.reduced(powers, dims)}));
}

// What does not fit is not expanded, so that inference says what is wrong with it: the nodes of the
// expansion might accept it, in another meaning.
bool fits(const Norm& op, const TensorType& x) {
  return is_floating(x.dtype.kind) && (!op.out || is_floating(op.out->kind));
}
bool fits(const Reduce& op, const TensorType& x) {
  if (x.is_list() && !op.dims.empty()) return false;
  return op.fn != ReduceFn::mean || is_floating(x.dtype.kind);
}
bool fit_row_norm(const GraphBuilder& builder, const std::vector<NodeId>& inputs) {
  const TensorType& x = builder.type(inputs[0]);
  if (x.shape.empty()) return false;
  for (std::size_t i = 1; i + 1 < inputs.size(); ++i) {
    const TensorType& weight = builder.type(inputs[i]);
    if (weight.dtype != x.dtype || weight.shape != Shape{x.shape.back()}) return false;
  }
  const TensorType& eps = builder.type(inputs.back());
  return eps.is_scalar() && eps.dtype == accumulator_of(x.dtype.kind);
}
// A slice cuts dims of the softmax alone, or others alone.
bool fit_softmax(const TensorType& x, const std::vector<int>& dims) {
  if (x.shape.empty() || !is_floating(x.dtype.kind) || any_partial(x)) return false;
  if (dims.back() >= x.rank()) return false;
  const AxisList& axes = x.layout.slice_order();
  return std::all_of(axes.begin(), axes.end(), [&](int axis) {
    const Slice& slice = x.layout.slice(axis);
    const auto inside =
        std::count_if(dims.begin(), dims.end(), [&](int d) { return slice.has(d); });
    return !slice.flat && (inside == 0 || inside == slice.last - slice.first + 1);
  });
}

// The last node of the expansion; invalid if the operation needs none, or has none and inference
// says why.
NodeId expand(GraphBuilder& builder, const Op& op, const std::vector<NodeId>& inputs,
              const Where& where) {
  if (inputs.empty()) return {};
  const TensorType type = builder.type(inputs[0]);
  Expansion e(builder, where);
  if (const Norm* norm = std::get_if<Norm>(&op)) {
    if (!fits(*norm, type) || any_partial(type) || cut_of(type, {}) == Cut::none) return {};
    if (const AxisList flat = flat_within_others(type); !flat.empty()) {
      return add_visible(builder, op, {e.gathered(inputs[0], flat)}, "", where);
    }
    return expand_norm(e, type, *norm, inputs[0]);
  }
  if (const Reduce* reduce = std::get_if<Reduce>(&op)) {
    const Cut cut = cut_of(type, reduce->dims);
    const bool whole_of_flat = cut == Cut::flat && reduce->dims.empty();
    const bool mean_of_dims = cut == Cut::dims && reduce->fn == ReduceFn::mean;
    if (!fits(*reduce, type) || (!whole_of_flat && !mean_of_dims)) return {};
    const AxisList flat = flat_within_others(type);
    if (whole_of_flat && !flat.empty()) {
      return add_visible(builder, op, {e.gathered(inputs[0], flat)}, "", where);
    }
    if (whole_of_flat) need_wide(builder, type, *reduce, where);
    return expand_reduce(e, type, *reduce, inputs[0]);
  }
  if (const Softmax* softmax = std::get_if<Softmax>(&op)) {
    const std::vector<int> last = {type.rank() - 1};
    const std::vector<int>& dims = softmax->dims.empty() ? last : softmax->dims;
    if (!fit_softmax(type, dims)) return {};
    if (dims == last && cut_of(type, dims) == Cut::none) return {};
    return expand_softmax(e, type, dims, inputs[0]);
  }
  if (std::holds_alternative<LayerNorm>(op) || std::holds_alternative<RmsNorm>(op)) {
    const bool last_alone =
        fit_row_norm(builder, inputs) && !any_partial(type) &&
        std::any_of(
            type.layout.slice_order().begin(), type.layout.slice_order().end(),
            [&](int axis) { return type.layout.slice(axis) == Slice::dim(type.rank() - 1); });
    if (last_alone) return expand_row_norm(e, type, inputs);
  }
  return {};
}

}  // namespace

NodeId add_visible(GraphBuilder& builder, Op op, std::vector<NodeId> inputs, std::string name,
                   Where where) {
  const bool norm = std::holds_alternative<LayerNorm>(op) || std::holds_alternative<RmsNorm>(op);
  if (norm && inputs.size() >= 3) {
    const DType& x = builder.type(inputs[0]).dtype;
    const TensorType& eps = builder.type(inputs.back());
    if (x.kind == DTypeKind::f64 && eps.is_scalar() && eps.dtype == f32) {
      inputs.back() = Expansion(builder, where).cast_to(f64, inputs.back());
    }
  }
  const NodeId last = expand(builder, op, inputs, where);
  if (!last.valid()) {
    return builder.add(std::move(op), std::move(inputs), std::move(name), std::move(where));
  }
  if (!name.empty()) builder.set_name(last, std::move(name));
  return last;
}

}  // namespace coconet
