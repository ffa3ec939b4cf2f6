#include "coconet/plan/kernel_builder.h"

#include <algorithm>

namespace coconet::plan {

KernelBuilder::KernelBuilder(Plan& plan, Storage& storage, const Phases& phases, int phase,
                             TensorType space)
    : plan_(plan), graph_(plan.graph), storage_(storage), phases_(phases), phase_(phase) {
  kernel_.space = std::move(space);
}

Level KernelBuilder::level_of(const TensorType& type) const {
  if (type.is_scalar()) return Level::call;
  if (type.is_scalar_list() && over_list()) return Level::run;
  const Shape& space = kernel_.space.shape;
  const bool one_a_row = type.shape.back().is_one() && !space.empty() && !space.back().is_one();
  return one_a_row && type.rank() == kernel_.space.rank() ? Level::run : Level::element;
}

namespace {

// What is one value for the whole call, and depends on its inputs alone.
bool is_shared(const Statement& statement) {
  const Compute* compute = std::get_if<Compute>(&statement.action);
  if (!compute || statement.level != Level::call || statement.per_peer) return false;
  return is_literal(compute->op) || std::holds_alternative<Pointwise>(compute->op) ||
         std::holds_alternative<Cast>(compute->op);
}

bool same_value(const Statement& x, const Statement& y) {
  return is_shared(x) && std::get<Compute>(x.action).op == std::get<Compute>(y.action).op &&
         x.inputs == y.inputs && x.dtype == y.dtype;
}

}  // namespace

// Of a small call much is what stands once in it, as the powers of Adam's corrections, which are
// written twice.
ValueId KernelBuilder::add(Statement statement) {
  if (is_shared(statement)) {
    const auto& there = kernel_.statements;
    const auto same = std::find_if(there.begin(), there.end(),
                                   [&](const Statement& s) { return same_value(s, statement); });
    if (same != there.end()) return ValueId{static_cast<int>(same - there.begin())};
  }
  kernel_.statements.push_back(std::move(statement));
  return ValueId{static_cast<int>(kernel_.statements.size()) - 1};
}

namespace {

Level highest(const std::vector<ValueId>& inputs, const std::vector<Statement>& statements) {
  Level level = Level::call;
  for (ValueId input : inputs) level = std::max(level, statements[input.index].level);
  return level;
}

bool any_per_peer(const std::vector<ValueId>& inputs, const std::vector<Statement>& statements) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](ValueId id) { return statements[id.index].per_peer; });
}

}  // namespace

ValueId KernelBuilder::compute(PointwiseFn fn, std::vector<ValueId> inputs, DType dtype,
                               NodeId origin) {
  const Level level = highest(inputs, kernel_.statements);
  const bool per_peer = any_per_peer(inputs, kernel_.statements);
  return add({Compute{Pointwise{fn}}, std::move(inputs), dtype, level, per_peer, origin});
}

ValueId KernelBuilder::cast(ValueId value, DType to, NodeId origin) {
  const Statement& from = at(value);
  if (from.dtype.kind == to.kind) return value;
  return add({Compute{Cast{to}}, {value}, to, from.level, from.per_peer, origin});
}

ValueId KernelBuilder::load(NodeId id) {
  const NodeId base = base_of(graph_, id);
  const Node& node = graph_.node(base);
  if (is_literal(node.op)) {
    return add({Compute{node.op}, {}, node.type.dtype, Level::call, false, id});
  }
  const Level level = level_of(node.type);
  if (level == Level::run && !over_list()) rows_ = true;
  if (level == Level::element && node.type.shape != kernel_.space.shape) rows_ = true;
  // While a fold's per-peer value is built, what differs between the ranks that are folded is read
  // from each of them.
  const bool per_peer = std::any_of(fold_axes_.begin(), fold_axes_.end(), [&](int axis) {
    return node.type.layout.is<Partial>(axis) || node.type.layout.is<Local>(axis);
  });
  return add({Load{storage_.buffer(base)}, {}, node.type.dtype, level, per_peer, id});
}

// An as_partial along a fold's axes gives each peer another value of the same operand.
bool KernelBuilder::differs_among_peers(const Op& op) const {
  const AsPartial* partial = std::get_if<AsPartial>(&op);
  return partial && std::any_of(fold_axes_.begin(), fold_axes_.end(), [&](int axis) {
           return std::find(partial->axes.begin(), partial->axes.end(), axis) !=
                  partial->axes.end();
         });
}

ValueId KernelBuilder::value(NodeId id) {
  const NodeId base = base_of(graph_, id);
  const auto key = std::make_pair(base.index, !fold_axes_.empty());
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Node& node = graph_.node(base);
  const bool by_member = node.type.is_scalar_list() && over_list() && !is_literal(node.op);
  // The storage of an update in the group may be written later; of one before it, it is written.
  if (std::holds_alternative<Update>(node.op) && phases_.has(base)) {
    return value(node.inputs[1]);
  }
  const bool here = phases_.has(base) && phases_.of(base) <= phase_ && !by_member;
  // What an earlier phase computed is loaded if it was stored; scalars are computed again.
  const bool stored = here && phases_.of(base) < phase_ && level_of(node.type) != Level::call &&
                      is_stored_over(kernel_.space, node.type);
  const ValueId out = here && !stored ? computed(base) : load(base);
  known_[key] = out;
  return out;
}

ValueId KernelBuilder::fold_peers(NodeId id, Fold fold, const AxisList& axes) {
  check(fold_axes_.empty(), "a fold is not inside another fold's per-peer value");
  const Node& node = graph_.node(id);
  fold_axes_ = axes;
  const ValueId peer = value(node.inputs[0]);
  fold_axes_.clear();
  return add({FoldPeers{fold, axes}, {peer}, node.type.dtype, at(peer).level, false, id});
}

ValueId KernelBuilder::mean_of_run(ValueId value, DType dtype, const Dim& columns, NodeId origin) {
  const ValueId sum = add({ReduceRun{Fold::sum}, {value}, dtype, Level::run, false, origin});
  const ValueId count = add({Count{{columns}}, {}, dtype, Level::call, false, origin});
  return compute(PointwiseFn::div, {sum, count}, dtype, origin);
}

// layer_norm, centred: mean, centred values, their mean square; else rms_norm: docs/numerics.md, in
// the accumulator, rounded once.
ValueId KernelBuilder::row_norm(NodeId id, bool centred) {
  const Node& node = graph_.node(id);
  const DType wide{accumulator_of(node.type.dtype.kind)};
  const Dim& columns = node.type.shape.back();
  rows_ = true;
  std::vector<ValueId> in;
  for (NodeId input : node.inputs) in.push_back(cast(value(input), wide, id));
  ValueId x = in[0];
  if (centred) {
    const ValueId mean = mean_of_run(x, wide, columns, id);
    x = compute(PointwiseFn::sub, {x, mean}, wide, id);
  }
  const ValueId square = compute(PointwiseFn::mul, {x, x}, wide, id);
  const ValueId variance = mean_of_run(square, wide, columns, id);
  const ValueId shifted = compute(PointwiseFn::add, {variance, in.back()}, wide, id);
  const ValueId scale = compute(PointwiseFn::rsqrt, {shifted}, wide, id);
  const ValueId unit = compute(PointwiseFn::mul, {x, scale}, wide, id);
  ValueId out = compute(PointwiseFn::mul, {unit, in[1]}, wide, id);
  if (centred) out = compute(PointwiseFn::add, {out, in[2]}, wide, id);
  return cast(out, node.type.dtype, id);
}

ValueId KernelBuilder::softmax(NodeId id) {
  const Node& node = graph_.node(id);
  const DType wide{accumulator_of(node.type.dtype.kind)};
  rows_ = true;
  const auto fold = [&](Fold fold, ValueId of) {
    return add({ReduceRun{fold}, {of}, wide, Level::run, false, id});
  };
  const ValueId x = cast(value(node.inputs[0]), wide, id);
  const ValueId shifted = compute(PointwiseFn::sub, {x, fold(Fold::max, x)}, wide, id);
  const ValueId power = compute(PointwiseFn::exp, {shifted}, wide, id);
  const ValueId share = compute(PointwiseFn::div, {power, fold(Fold::sum, power)}, wide, id);
  return cast(share, node.type.dtype, id);
}

// Each rank's whole piece, so the operand's dims align from the right; a scalar becomes one
// element.
ValueId KernelBuilder::stack(NodeId id) {
  const Node& node = graph_.node(id);
  const ValueId x = value(node.inputs[0]);
  if (at(x).level == Level::element) return x;
  return add(
      {Compute{Cast{node.type.dtype}}, {x}, node.type.dtype, Level::element, at(x).per_peer, id});
}

ValueId KernelBuilder::row_reduce(NodeId id, const Reduce& reduce) {
  const Node& node = graph_.node(id);
  const DType wide{accumulator_of(node.type.dtype.kind)};
  const Dim& columns = graph_.node(node.inputs[0]).type.shape.back();
  rows_ = true;
  const ValueId x = cast(value(node.inputs[0]), wide, id);
  if (reduce.fn == ReduceFn::mean) {
    return cast(mean_of_run(x, wide, columns, id), node.type.dtype, id);
  }
  const Fold fold = *fold_of(reduce.fn);
  return cast(add({ReduceRun{fold}, {x}, wide, Level::run, false, id}), node.type.dtype, id);
}

namespace {

struct BlockFacts {
  Fold fold = Fold::sum;
  bool squares = false;
};

BlockFacts block_facts(const Op& op) {
  if (const auto* block = std::get_if<BlockReduce>(&op)) return {block->fold, block->of_squares};
  if (std::holds_alternative<Norm>(op)) return {Fold::sum, true};
  const auto& reduce = std::get<Reduce>(op);
  return {fold_of(reduce.fn).value_or(Fold::sum), false};
}

}  // namespace

ValueId KernelBuilder::block_sum(NodeId reduction) {
  const Node& node = graph_.node(reduction);
  const BlockFacts facts = block_facts(node.op);
  const TensorType& operand = graph_.node(node.inputs[0]).type;
  for (int axis : operand.layout.slice_order()) {
    check(operand.layout.slice(axis).flat, "pieces that are folded by blocks are whole blocks");
  }
  const DType wide{accumulator_of(operand.dtype.kind)};
  ValueId x = cast(value(node.inputs[0]), wide, reduction);
  if (facts.squares) x = compute(PointwiseFn::mul, {x, x}, wide, reduction);
  blocks_ = true;
  return add({ReduceRun{facts.fold}, {x}, wide, Level::run, false, reduction});
}

// The result of a Norm or tensor-wide Reduce of this member, from the blocks of the phase before.
ValueId KernelBuilder::fold_of_blocks(NodeId id) {
  const Node& node = graph_.node(id);
  const BufferId blocks = storage_.blocks(id);
  const DType wide = plan_.buffer(blocks).type.dtype;
  const Fold fold = block_facts(node.op).fold;
  const Level level = level_of(node.type);
  ValueId out = add({FoldBuffer{blocks, fold}, {}, wide, level, false, id});
  if (std::holds_alternative<Norm>(node.op)) {
    out = compute(PointwiseFn::sqrt, {out}, wide, id);
  } else if (std::get<Reduce>(node.op).fn == ReduceFn::mean) {
    const Shape& shape = graph_.node(node.inputs[0]).type.shape;
    const ValueId count = add({Count{shape}, {}, wide, level, false, id});
    out = compute(PointwiseFn::div, {out, count}, wide, id);
  }
  return cast(out, node.type.dtype, id);
}

// Of a FoldBlocks: its sum divided by the number of elements; of a list's, one a member.
ValueId KernelBuilder::mean_of_blocks(NodeId id, ValueId sum) {
  const Node& node = graph_.node(id);
  const Dim& blocks = graph_.node(node.inputs[0]).type.shape[0];
  const Dim elements = blocks.elements();
  const Shape counted = {blocks.is_packed() ? Dim::packed(elements) : elements};
  const ValueId count = add({Count{counted}, {}, node.type.dtype, at(sum).level, false, id});
  return compute(PointwiseFn::div, {sum, count}, node.type.dtype, id);
}

// The list is stored by now; not by an update, which may come late, but as what it stores. Of
// tensors of another shape than the space's, the elements are found row by row.
ValueId KernelBuilder::across(NodeId id, const Across& op) {
  const Node& node = graph_.node(id);
  NodeId from = base_of(graph_, node.inputs[0]);
  while (std::holds_alternative<Update>(graph_.node(from).op) && phases_.has(from)) {
    from = base_of(graph_, graph_.node(from).inputs[1]);
  }
  const FoldBuffer fold{storage_.buffer(from), op.fold};
  const Shape &shape = node.type.shape, &space = kernel_.space.shape;
  Level level = Level::call;
  if (!shape.empty()) {
    rows_ = rows_ || shape != space;
    level = shape.back().is_one() && !space.back().is_one() ? Level::run : Level::element;
  }
  return add({fold, {}, node.type.dtype, level, false, id});
}

ValueId KernelBuilder::computed(NodeId id) {
  const Node& node = graph_.node(id);
  const auto operation = [&](const Op& op) {
    std::vector<ValueId> inputs;
    for (NodeId input : node.inputs) inputs.push_back(value(input));
    const Level level = std::max(highest(inputs, kernel_.statements), level_of(node.type));
    const bool per_peer = any_per_peer(inputs, kernel_.statements) || differs_among_peers(op);
    return add({Compute{op}, std::move(inputs), node.type.dtype, level, per_peer, id});
  };
  const auto refuse = [&](const auto&) -> ValueId {
    throw InternalError(graph_.label(id) + " is no operation of a kernel; fuse refuses it");
  };
  return std::visit(
      Overloaded{
          [&](const Pointwise& op) { return operation(op); },
          [&](const Cast& op) { return operation(op); },
          [&](const Dropout& op) { return operation(op); },
          [&](const AsPartial& op) { return operation(op); },
          [&](const Constant&) { return load(id); },
          [&](const AxisSize&) { return load(id); },
          [&](const DimSize&) { return load(id); },
          [&](const Reduce& op) {
            if (op.dims.empty()) return fold_of_blocks(id);
            const int last = graph_.node(node.inputs[0]).type.rank() - 1;
            return op.dims == std::vector<int>{last} ? row_reduce(id, op) : refuse(op);
          },
          [&](const Norm&) { return fold_of_blocks(id); },
          [&](const LayerNorm&) { return row_norm(id, true); },
          [&](const RmsNorm&) { return row_norm(id, false); },
          [&](const Softmax&) { return softmax(id); },
          [&](const FoldBlocks& op) {
            const FoldBuffer fold{storage_.buffer(base_of(graph_, node.inputs[0])), op.fold};
            const ValueId sum = add({fold, {}, node.type.dtype, level_of(node.type), false, id});
            return op.mean ? mean_of_blocks(id, sum) : sum;
          },
          [&](const Across& op) { return across(id, op); },
          [&](const Update&) { return value(node.inputs[1]); },
          [&](const AllReduce& op) { return fold_peers(id, op.fold, op.axes); },
          [&](const ReduceScatter& op) { return fold_peers(id, op.fold, op.axes); },
          [&](const ReduceTo& op) { return fold_peers(id, op.fold, op.axes); },
          [&](const AllGather&) { return value(node.inputs[0]); },
          [&](const Broadcast&) { return value(node.inputs[0]); },
          [&](const Shard&) { return value(node.inputs[0]); },
          [&](const RootOf&) { return value(node.inputs[0]); },
          [&](const Input& op) { return refuse(op); },
          [&](const Matmul& op) { return refuse(op); },
          [&](const Conv2d& op) { return refuse(op); },
          [&](const Transpose& op) { return refuse(op); },
          [&](const Reshape& op) { return refuse(op); },
          [&](const Narrow& op) { return refuse(op); },
          [&](const Concat& op) { return refuse(op); },
          [&](const BlockReduce& op) { return refuse(op); },
          [&](const Shift& op) { return refuse(op); },
          [&](const AllToAll& op) { return refuse(op); },
          [&](const Stack&) { return stack(id); },
      },
      node.op);
}

void KernelBuilder::store(ValueId value, BufferId buffer, std::optional<AxisList> all) {
  store(Store{value, buffer, std::move(all)});
}

Kernel KernelBuilder::finish() {
  check(!rows_ || !blocks_, "a kernel runs over rows or over blocks; fuse refuses both");
  blocks_ = blocks_ || over_list();
  kernel_.width = rows_ ? RunWidth::row : blocks_ ? RunWidth::block : RunWidth::piece;
  return std::move(kernel_);
}

}  // namespace coconet::plan
