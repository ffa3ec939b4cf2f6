// Matrix multiplication.
#include "coconet/base/error.h"
#include "coconet/graph/infer_rules.h"

namespace coconet::rules {
namespace {

// What a slice of an operand cuts.
enum class Part { batch, rows, columns, inner };

struct Shapes {
  int rank_a = 0, rank_b = 0;
  bool ta = false, tb = false;
  int inner_a() const { return rank_a - (ta ? 2 : 1); }
  int rows_a() const { return rank_a - (ta ? 1 : 2); }
  int inner_b() const { return rank_b - (tb ? 1 : 2); }
  int columns_b() const { return rank_b - (tb ? 2 : 1); }
  bool batched() const { return rank_b > 2; }
};

void need_dtypes(const Call& call, const Matmul& op) {
  const DType& a = call.operands[0].dtype;
  const DType& b = call.operands[1].dtype;
  need_one_dtype(call, a, b);
  need_floating(call, a);
  if (op.out) need_floating(call, *op.out);
  const bool wide_out = op.out && op.out->kind == DTypeKind::f64;
  if (op.out && wide_out != (a.kind == DTypeKind::f64)) {
    refuse(call,
           "operands of " + a.text() + " are multiplied to " + op.out->text() +
               "; products of f64 give f64, those of narrower types f32, bf16 or f16",
           "cast the operands or the product");
  }
}

Shape shape_of(const Call& call, const Shapes& shapes) {
  const Shape& a = call.operands[0].shape;
  const Shape& b = call.operands[1].shape;
  const std::string k_n = shapes.tb ? "n, k]" : "k, n]";
  const std::string form = std::string("a[..., ") + (shapes.ta ? "k, m]" : "m, k]") + " times b[" +
                           k_n + ", or b[..., " + k_n + " with a's leading dims";
  if (a.size() < 2 || b.size() < 2 || (b.size() > 2 && b.size() != a.size())) {
    refuse(call, "the numbers of dims do not fit", form);
  }
  const Dim& of_a = a[shapes.inner_a()];
  const Dim& of_b = b[shapes.inner_b()];
  if (of_a != of_b) {
    refuse(call,
           std::string(shapes.ta ? "the last dim but one" : "the last dim") +
               " of the first operand is " + of_a.text() + " and the last " +
               (shapes.tb ? "" : "but one ") + "of the second " + of_b.text() +
               "; needed equal dims",
           form);
  }
  for (std::size_t d = 0; b.size() > 2 && d + 2 < b.size(); ++d) {
    if (a[d] != b[d]) {
      refuse(call, "leading dims " + a[d].text() + " and " + b[d].text() + " differ", form);
    }
  }
  Shape out = a;
  out[a.size() - 2] = a[shapes.rows_a()];
  out.back() = b[shapes.columns_b()];
  return out;
}

[[noreturn]] void refuse_range(const Call& call, int operand, const Slice& slice) {
  const std::string name = operand == 0 ? "a" : "b";
  refuse(call,
         "operand " + name + " is sliced" + slice.text() +
             ", which cuts the contracted dim together with others" +
             (operand == 1 ? ", or leading dims together with matrix dims" : ""),
         "all_gather(" + name + ") first, or slice it by rows, by leading dims or by the " +
             "contracted dim alone");
}

Part part_of(const Call& call, const Shapes& shapes, int operand, const Slice& slice) {
  if (slice.flat) refuse_range(call, operand, slice);
  const int rank = operand == 0 ? shapes.rank_a : shapes.rank_b;
  if (slice.last < rank - 2) return Part::batch;
  if (slice == Slice::dim(operand == 0 ? shapes.inner_a() : shapes.inner_b())) return Part::inner;
  if (operand == 1) {
    if (slice == Slice::dim(shapes.columns_b())) return Part::columns;
    refuse_range(call, operand, slice);
  }
  if (slice.has(shapes.inner_a())) refuse_range(call, operand, slice);
  return Part::rows;
}

// The slice of a's rows as one of the result.
Slice rows_in_result(const Shapes& shapes, const Slice& slice) {
  return shapes.ta ? Slice::dim(shapes.rank_a - 2) : slice;
}

std::string word_of(Part part) {
  switch (part) {
    case Part::batch: return "leading dims";
    case Part::rows: return "rows";
    case Part::columns: return "columns";
    case Part::inner: return "the contracted dim";
  }
  throw InternalError("a Part outside its enumerators");
}

[[noreturn]] void refuse_pair(const Call& call, int axis, const std::string& a,
                              const std::string& b) {
  refuse(call,
         call.on(axis) + " the first operand is sliced by " + a + " and the second by " + b +
             ", so no rank has what it must multiply",
         "all_gather(a) or all_gather(b) over that axis first, or both sliced by the contracted "
         "dim, or one replicated");
}

// Both operands' placements on one axis, at least one of them sliced.
Placement sliced_pair(const Call& call, const Shapes& shapes, int axis) {
  const Sliced* a = std::get_if<Sliced>(&call.at(0, axis));
  const Sliced* b = std::get_if<Sliced>(&call.at(1, axis));
  const Placement& other = a ? call.at(1, axis) : call.at(0, axis);
  if (!(a && b) && !std::holds_alternative<Replicated>(other)) {
    refuse(call,
           call.on(axis) + " one operand is sliced and the other " + text_of(other) +
               "; needed: the other sliced to match, or replicated",
           std::holds_alternative<Partial>(other) ? "reduce the partial operand first"
                                                  : "all_gather the sliced operand first");
  }
  const Part part_a = a ? part_of(call, shapes, 0, a->slice) : Part::rows;
  const Part part_b = b ? part_of(call, shapes, 1, b->slice) : Part::columns;
  if (a && b) {
    const bool inner = part_a == Part::inner && part_b == Part::inner;
    const bool batch =
        part_a == Part::batch && part_b == Part::batch && shapes.batched() && a->slice == b->slice;
    if (inner) return Partial{Fold::sum};
    if (batch) return *a;
    refuse_pair(call, axis, word_of(part_a), word_of(part_b));
  }
  if ((a ? part_a : part_b) == Part::inner) return Partial{Fold::sum};
  if (a) return Sliced{part_a == Part::rows ? rows_in_result(shapes, a->slice) : a->slice};
  return part_b == Part::columns ? Sliced{Slice::dim(shapes.rank_a - 1)} : *b;
}

Placement pair(const Call& call, const Shapes& shapes, int axis) {
  const Placement& a = call.at(0, axis);
  const Placement& b = call.at(1, axis);
  if (std::holds_alternative<Sliced>(a) || std::holds_alternative<Sliced>(b)) {
    return sliced_pair(call, shapes, axis);
  }
  const bool partial_a = std::holds_alternative<Partial>(a);
  const bool partial_b = std::holds_alternative<Partial>(b);
  if (!partial_a && !partial_b) return joined(call, axis, {a, b});
  const Placement& partial = partial_a ? a : b;
  const Placement& other = partial_a ? b : a;
  if (is_sum(partial) && std::holds_alternative<Replicated>(other)) return partial;
  refuse(call,
         call.on(axis) + " the operands are " + text_of(a) + " and " + text_of(b) +
             "; needed: partial(+) with replicated",
         "reduce first, for example all_reduce(x, " +
             std::string(name_of(std::get<Partial>(partial).fold)) + ")");
}

// Of one operand, the slices that `inner` says cut the contracted dim (moved to dim 0), or the
// others in the result's dims.
Layout slices_of(const Call& call, const Shapes& shapes, int operand, bool inner) {
  const Layout& layout = call.operands[operand].layout;
  Layout out(layout.axes());
  for (int axis : layout.slice_order()) {
    const Slice& slice = layout.slice(axis);
    const Part part = part_of(call, shapes, operand, slice);
    if ((part == Part::inner) != inner) continue;
    Slice in_result = slice;
    if (part == Part::inner) in_result = Slice::dim(0);
    if (part == Part::rows) in_result = rows_in_result(shapes, slice);
    if (part == Part::columns) in_result = Slice::dim(shapes.rank_a - 1);
    out = out.with(axis, Sliced{in_result});
  }
  return out;
}

}  // namespace

TensorType matmul(const Call& call, const Matmul& op) {
  need_operands(call, 2);
  need_dtypes(call, op);
  TensorType result;
  result.dtype = op.out.value_or(call.operands[0].dtype);
  const Shapes shapes{call.operands[0].rank(), call.operands[1].rank(), op.ta, op.tb};
  result.shape = shape_of(call, shapes);
  Layout base(call.mesh.size());
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    const Placement placement = pair(call, shapes, axis);
    if (!std::holds_alternative<Sliced>(placement)) base = base.with(axis, placement);
  }
  with_slices(call, Layout(call.mesh.size()),
              {slices_of(call, shapes, 0, true), slices_of(call, shapes, 1, true)});
  result.layout = with_slices(
      call, base, {slices_of(call, shapes, 0, false), slices_of(call, shapes, 1, false)});
  return result;
}

}  // namespace coconet::rules
