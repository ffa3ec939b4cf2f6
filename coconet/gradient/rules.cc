// The rules of operations that are not pointwise.
#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/gradient/derivation.h"

namespace coconet::gradients {
namespace {

NodeId operand(const Derivation& d, NodeId id, std::size_t i = 0) {
  return d.program().node(id).inputs[i];
}

int rank_of(const Derivation& d, NodeId id) { return d.program().node(id).type.rank(); }

NodeId times(Derivation& d, NodeId a, NodeId b) { return d.apply(PointwiseFn::mul, {a, b}); }
NodeId minus(Derivation& d, NodeId a, NodeId b) { return d.apply(PointwiseFn::sub, {a, b}); }

// The rule of each operation but the pointwise ones, to its operands.
struct Rules {
  Derivation& d;
  NodeId id, dy;

  const Node& node() const { return d.program().node(id); }
  NodeId x(std::size_t i = 0) { return d.value(operand(d, id, i)); }
  void give(std::size_t i, NodeId summand) { d.contribute(operand(d, id, i), summand); }
  bool wanted(std::size_t i) const { return d.wanted(operand(d, id, i)); }

  void operator()(const Input&) {}
  void operator()(const Constant&) {}
  void operator()(const AxisSize&) {}
  void operator()(const DimSize&) {}
  void operator()(const Pointwise&) { derive_pointwise(d, id, dy); }
  void operator()(const Cast&) { give(0, dy); }
  // Linear, with the mask that its site has.
  void operator()(const Dropout&) { give(0, d.dropped(id, dy)); }
  void operator()(const Matmul& op);
  void operator()(const Conv2d&) { no_rule(d, id, "conv2d has no rule in this version"); }
  void operator()(const Reduce& op);
  void operator()(const Norm&);
  void operator()(const LayerNorm&) { row_norm(true); }
  void operator()(const RmsNorm&) { row_norm(false); }
  void operator()(const Softmax& op);
  void operator()(const Transpose& op);
  void operator()(const Reshape&) {
    give(0, d.add(Reshape{d.program().node(operand(d, id)).type.shape}, {dy}));
  }
  void operator()(const Narrow& op);
  void operator()(const Concat& op);
  void operator()(const BlockReduce&) { no_rule(d, id, "block sums have one with their fold"); }
  void operator()(const FoldBlocks&);
  void operator()(const Across&) { no_rule(d, id, "lists have none in this version"); }
  void operator()(const Update&) { no_rule(d, id, "it writes a state or input"); }
  void operator()(const AllReduce& op);
  void operator()(const ReduceScatter& op) { moved(op.fold); }
  void operator()(const AllGather&) {
    give(0, d.settle(dy, d.program().node(operand(d, id)).type));
  }
  void operator()(const ReduceTo& op) { moved(op.fold); }
  void operator()(const Broadcast&) { give(0, dy); }
  void operator()(const Shard&) { give(0, dy); }
  void operator()(const RootOf&) { give(0, dy); }
  void operator()(const AsPartial& op) { moved(op.fold); }
  void operator()(const Shift& op) { give(0, d.add(Shift{-op.by, op.wrap, op.axes}, {dy})); }
  void operator()(const AllToAll& op) { give(0, d.add(AllToAll{op.to, op.from, op.axes}, {dy})); }
  void operator()(const Stack&) { no_rule(d, id, "stack has no rule in this version"); }

 private:
  // Values are added or moved: the gradient of each summand is that of the sum.
  void moved(Fold fold) {
    if (fold != Fold::sum) {
      no_rule(d, id,
              "a fold by " + std::string(name_of(fold)) + " across ranks has no rule; legal is +");
    }
    give(0, dy);
  }
  void extreme(NodeId of, const std::vector<int>& dims);
  void row_norm(bool centred);
  void matmul_left(const Matmul& op, NodeId g);
  void matmul_right(const Matmul& op, NodeId g);
  NodeId swapped(NodeId x);
  NodeId merged(NodeId x);
};

// --- Products

// With the last two dims in the other order.
NodeId Rules::swapped(NodeId x) {
  const int rank = d.type(x).rank();
  std::vector<int> order(static_cast<std::size_t>(rank));
  for (int dim = 0; dim < rank; ++dim) order[static_cast<std::size_t>(dim)] = dim;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return d.add(Transpose{order}, {x});
}

// With all dims but the last as one.
NodeId Rules::merged(NodeId x) {
  const Shape shape = d.type(x).shape;
  const Shape rows(shape.begin(), shape.end() - 1);
  return d.add(Reshape{{product_of(rows), shape.back()}}, {x});
}

void Rules::matmul_left(const Matmul& op, NodeId g) {
  const NodeId da = d.add(Matmul{std::nullopt, false, !op.tb}, {g, x(1)});
  give(0, op.ta ? swapped(da) : da);
}

// a^T g, over all rows of a batch where b has none.
void Rules::matmul_right(const Matmul& op, NodeId g) {
  NodeId a = x(0);
  bool ta = op.ta;
  const int rows = d.type(a).rank(), wanted = d.type(x(1)).rank();
  if (rows > wanted) {
    if (ta) a = swapped(a);
    ta = false;
    try {
      const NodeId flat_a = merged(a), flat_g = merged(g);
      a = flat_a;
      g = flat_g;
    } catch (const UserError&) {
      // A slice of some of the dims that would be one: a product each, added.
      NodeId each = op.tb ? d.add(Matmul{std::nullopt, true, false}, {g, a})
                          : d.add(Matmul{std::nullopt, true, false}, {a, g});
      std::vector<int> batch;
      for (int dim = 0; dim + 2 < rows; ++dim) batch.push_back(dim);
      each = d.sum(d.wide(each), batch);
      return give(1, d.add(Reshape{d.type(x(1)).shape}, {each}));
    }
  }
  // [k, n] as a^T g, or [n, k] as g^T a.
  give(1, op.tb ? d.add(Matmul{std::nullopt, true, ta}, {g, a})
                : d.add(Matmul{std::nullopt, !ta, false}, {a, g}));
}

void Rules::operator()(const Matmul& op) {
  const NodeId g = d.cast(dy, d.type(x(0)).dtype);
  if (wanted(0)) matmul_left(op, g);
  if (wanted(1)) matmul_right(op, g);
}

// --- Reductions inside a tensor

void Rules::operator()(const Reduce& op) {
  const TensorType& type = d.program().node(operand(d, id)).type;
  if (op.fn == ReduceFn::prod) no_rule(d, id, "prod has no rule in this version");
  NodeId g = dy;
  if (op.fn == ReduceFn::mean) {
    Shape over;
    for (int dim = 0; dim < type.rank(); ++dim) {
      const bool reduced = op.dims.empty() || std::ranges::find(op.dims, dim) != op.dims.end();
      if (reduced) over.push_back(type.shape[static_cast<std::size_t>(dim)]);
    }
    const NodeId wide = d.wide(dy);
    const NodeId count = d.add(DimSize{product_of(over), d.type(wide).dtype}, {});
    g = d.apply(PointwiseFn::div, {wide, count});
  }
  if (op.fn == ReduceFn::sum || op.fn == ReduceFn::mean) return give(0, d.spread(g, x()));
  extreme(operand(d, id), op.dims);
}

// This node is the largest or smallest of each row of `of`: the elements that are share its
// gradient.
void Rules::extreme(NodeId of, const std::vector<int>& dims) {
  const NodeId x = d.value(of);
  const NodeId equal = d.apply(PointwiseFn::eq, {x, d.spread(d.value(id), x)});
  const NodeId wide = d.wide(x);
  const NodeId ones = d.apply(PointwiseFn::where, {equal, d.number(1, wide), d.number(0, wide)});
  const NodeId count = d.settle(d.sum(ones, dims), node().type);
  const NodeId share = d.apply(PointwiseFn::div, {d.wide(dy), count});
  d.contribute(of, times(d, ones, d.spread(share, ones)));
}

void Rules::operator()(const AllReduce& op) {
  const Node& partial = d.program().node(operand(d, id));
  const Reduce* reduce = std::get_if<Reduce>(&partial.op);
  const bool whole = op.fold != Fold::sum && reduce && fold_of(reduce->fn) == op.fold;
  return whole ? extreme(partial.inputs[0], reduce->dims) : moved(op.fold);
}

void Rules::operator()(const Norm&) {
  const NodeId wide = d.wide(x());
  const NodeId y = d.cast(d.value(id), d.type(wide).dtype);
  const NodeId zero = d.number(0, y);
  const NodeId above = d.apply(PointwiseFn::gt, {y, zero});
  const NodeId divisor = d.apply(PointwiseFn::where, {above, y, d.number(1, y)});
  const NodeId scale = d.apply(PointwiseFn::div, {d.cast(dy, d.type(wide).dtype), divisor});
  give(0, times(d, wide, scale));
}

// y = u gamma (+ beta), u = (x - mean) r, r = rsqrt(variance + eps), or the same without the mean:
// dx = r (g - mean(g) - u mean(g u)), g = dy gamma.
void Rules::row_norm(bool centred) {
  const std::size_t eps_at = centred ? 3 : 2;
  NodeId a = d.wide(x());
  if (centred) a = minus(d, a, d.mean_of_last(a));
  const NodeId variance = d.mean_of_last(times(d, a, a));
  const NodeId eps = d.cast(x(eps_at), d.type(a).dtype);
  const NodeId r = d.apply(PointwiseFn::rsqrt, {d.apply(PointwiseFn::add, {variance, eps})});
  const NodeId u = times(d, a, r);
  const NodeId wide_dy = d.wide(dy);
  if (wanted(0)) {
    const NodeId g = times(d, wide_dy, d.wide(x(1)));
    NodeId inner = centred ? minus(d, g, d.mean_of_last(g)) : g;
    inner = minus(d, inner, times(d, u, d.mean_of_last(times(d, g, u))));
    give(0, times(d, r, inner));
  }
  if (wanted(1)) d.contribute_broadcast(operand(d, id, 1), times(d, wide_dy, u));
  if (centred && wanted(2)) d.contribute_broadcast(operand(d, id, 2), wide_dy);
}

void Rules::operator()(const Softmax& op) {
  const std::vector<int> last = {rank_of(d, id) - 1};
  const std::vector<int>& dims = op.dims.empty() ? last : op.dims;
  const NodeId y = d.wide(d.value(id)), g = d.wide(dy);
  const NodeId sum = d.sum(times(d, g, y), dims);
  give(0, times(d, y, minus(d, g, sum)));
}

// Of the blocks that are folded: the whole tensor-wide reduction.
void Rules::operator()(const FoldBlocks&) {
  NodeId blocks = operand(d, id);
  while (std::holds_alternative<AllGather>(d.program().node(blocks).op)) {
    blocks = operand(d, blocks);
  }
  const BlockReduce* reduce = std::get_if<BlockReduce>(&d.program().node(blocks).op);
  if (!reduce || reduce->fold != Fold::sum) {
    no_rule(d, id, "only block sums that are folded by + have a rule");
  }
  const NodeId of = operand(d, blocks);
  const NodeId wide = d.wide(d.value(of));
  const NodeId g = d.cast(dy, d.type(wide).dtype);
  if (reduce->of_squares) {
    d.contribute(of, times(d, wide, times(d, g, d.number(2, g))));
  } else {
    d.contribute(of, d.spread(g, wide));
  }
}

// --- Movement of data

void Rules::operator()(const Transpose& op) {
  std::vector<int> back(op.order.size());
  for (std::size_t i = 0; i < op.order.size(); ++i) {
    back[static_cast<std::size_t>(op.order[i])] = static_cast<int>(i);
  }
  give(0, d.add(Transpose{back}, {dy}));
}

// Dims that are multiples of one product: by how many; none otherwise.
std::optional<std::int64_t> multiple_of(const Dim& dim, const Dim& unit) {
  if (dim == Dim(0)) return 0;
  if (dim.names() != unit.names() || dim.is_blocks() || unit.is_blocks()) return std::nullopt;
  return dim.coefficient();
}

// Zeros before and after what was taken.
void Rules::operator()(const Narrow& op) {
  const Dim whole = d.program().node(operand(d, id)).type.shape[static_cast<std::size_t>(op.dim)];
  const auto total = multiple_of(whole, whole), start = multiple_of(op.start, whole),
             length = multiple_of(op.length, whole);
  if (!start || !length) {
    no_rule(d, id,
            "where it begins and ends are no multiples of what the dim " + whole.text() +
                " is a multiple of");
  }
  Dim unit(1);
  for (const std::string& name : whole.names()) unit = unit * Dim::named(name);
  std::vector<NodeId> parts;
  const auto add_zeros = [&](std::int64_t from, std::int64_t count) {
    if (count == 0) return;
    const NodeId there = d.add(Narrow{op.dim, Dim(from) * unit, Dim(count) * unit}, {x()});
    parts.push_back(d.spread(d.number(0, dy), there));
  };
  add_zeros(0, *start);
  parts.push_back(dy);
  add_zeros(*start + *length, *total - *start - *length);
  give(0, parts.size() == 1 ? dy : d.add(Concat{op.dim, whole}, parts));
}

void Rules::operator()(const Concat& op) {
  const std::vector<NodeId> operands = node().inputs;
  const auto dim_of = [&](NodeId part) {
    return d.program().node(part).type.shape[static_cast<std::size_t>(op.dim)];
  };
  const Dim first = dim_of(operands[0]);
  Dim unit(1);
  for (const std::string& name : first.names()) unit = unit * Dim::named(name);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Dim length = dim_of(operands[i]);
    const auto count = multiple_of(length, unit);
    if (!count) no_rule(d, id, "its operands' sizes are no multiples of one product");
    if (wanted(i)) give(i, d.add(Narrow{op.dim, Dim(start) * unit, length}, {dy}));
    start += *count;
  }
}

}  // namespace

void derive(Derivation& d, NodeId id, NodeId dy) {
  std::visit(Rules{d, id, dy}, Op(d.program().node(id).op));
}

}  // namespace coconet::gradients
