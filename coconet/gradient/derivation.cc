#include "coconet/gradient/derivation.h"

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet::gradients {

Derivation::Derivation(const Graph& program, Header header)
    : program_(program),
      builder_(std::move(header)),
      values_(static_cast<std::size_t>(program.size())),
      summands_(static_cast<std::size_t>(program.size())),
      wanted_(static_cast<std::size_t>(program.size()), true) {}

// Without recursion: programs are as deep as they are long.
NodeId Derivation::value(NodeId id) {
  const auto known = [&](NodeId node) -> NodeId& {
    return values_[static_cast<std::size_t>(node.index)];
  };
  std::vector<NodeId> open = {id};
  while (!open.empty()) {
    const NodeId next = open.back();
    const std::size_t before = open.size();
    for (const NodeId input : program_.node(next).inputs) {
      if (!known(next).valid() && !known(input).valid()) open.push_back(input);
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (!known(next).valid()) known(next) = copy(next);
  }
  return known(id);
}

NodeId Derivation::copy(NodeId id) {
  const Node& node = program_.node(id);
  std::vector<NodeId> inputs;
  for (const NodeId input : node.inputs) {
    inputs.push_back(values_[static_cast<std::size_t>(input.index)]);
  }
  if (std::holds_alternative<Dropout>(node.op) && wanted(id)) {
    const NodeId x = wide(inputs[0]);
    const NodeId mask = add(node.op, {spread(number(1, x), x), inputs[1]});
    masks_[id.index] = mask;
    return masked(inputs[0], mask);
  }
  return builder_.add(node.op, std::move(inputs), node.name, node.where);
}

NodeId Derivation::dropped(NodeId dropout, NodeId x) {
  const auto mask = masks_.find(dropout.index);
  if (mask != masks_.end()) return masked(x, mask->second);
  const Node& node = program_.node(dropout);
  return add(node.op, {x, value(node.inputs[1])});
}

// Rounded once, and 0 where it drops, whatever x is: as the dropout.
NodeId Derivation::masked(NodeId x, NodeId mask) {
  const NodeId kept = apply(PointwiseFn::gt, {mask, number(0, mask)});
  const NodeId product = apply(PointwiseFn::mul, {wide(x), mask});
  return cast(apply(PointwiseFn::where, {kept, product, number(0, mask)}), type(x).dtype);
}

NodeId Derivation::add(Op op, std::vector<NodeId> inputs) {
  return add_visible(builder_, std::move(op), std::move(inputs), "", where_);
}

NodeId Derivation::apply(PointwiseFn fn, std::vector<NodeId> inputs) {
  return add(Pointwise{fn}, std::move(inputs));
}

NodeId Derivation::number(double value, NodeId like) {
  return add(Constant{value, type(like).dtype}, {});
}

NodeId Derivation::cast(NodeId x, DType dtype) {
  return type(x).dtype == dtype ? x : add(Cast{std::move(dtype)}, {x});
}

NodeId Derivation::wide(NodeId x) {
  const DType& dtype = type(x).dtype;
  const DTypeKind kind = accumulator_of(dtype.kind);
  return kind == dtype.kind ? x : cast(x, DType(kind));
}

NodeId Derivation::sum(NodeId x, const std::vector<int>& dims) {
  return add(Reduce{ReduceFn::sum, dims}, {x});
}

NodeId Derivation::mean_of_last(NodeId x) {
  return add(Reduce{ReduceFn::mean, {type(x).rank() - 1}}, {x});
}

// A choice that always falls on x: nothing is computed of `like`, whatever its values.
NodeId Derivation::spread(NodeId x, NodeId like) {
  const NodeId yes = add(Constant{true, boolean}, {});
  return apply(PointwiseFn::where, {yes, x, cast(like, type(x).dtype)});
}

void Derivation::contribute(NodeId to, NodeId summand) {
  if (wanted(to)) summands_[static_cast<std::size_t>(to.index)].push_back(summand);
}

void Derivation::contribute_broadcast(NodeId to, NodeId summand) {
  if (!wanted(to)) return;
  const Shape& shape = program_.node(to).type.shape;
  const Shape& found = type(summand).shape;
  if (shape == found) return contribute(to, summand);
  const std::size_t more = found.size() - shape.size();
  std::vector<int> dims;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool once = i < more || (shape[i - more].is_one() && !found[i].is_one());
    if (once) dims.push_back(static_cast<int>(i));
  }
  const NodeId x = wide(summand);
  if (shape.empty()) return contribute(to, sum(x, {}));
  NodeId out = dims.empty() ? x : sum(x, dims);
  if (more > 0) out = add(Reshape{shape}, {out});
  contribute(to, out);
}

std::vector<NodeId> Derivation::summands(NodeId id) {
  std::vector<NodeId> out = summands_[static_cast<std::size_t>(id.index)];
  const auto other = [&](NodeId one) { return type(one).dtype != type(out[0]).dtype; };
  if (std::ranges::any_of(out, other)) {
    for (NodeId& one : out) one = wide(one);
  }
  return out;
}

bool Derivation::alike(const std::vector<NodeId>& some) const {
  return std::ranges::all_of(some,
                             [&](NodeId one) { return type(one).layout == type(some[0]).layout; });
}

NodeId Derivation::total(const std::vector<NodeId>& some) {
  NodeId out = some[0];
  for (std::size_t i = 1; i < some.size(); ++i) out = apply(PointwiseFn::add, {out, some[i]});
  return out;
}

std::optional<NodeId> Derivation::raw(NodeId id) {
  const std::vector<NodeId> all = summands(id);
  if (all.empty()) return std::nullopt;
  return alike(all) ? total(all) : settled(id);
}

// What is partial is not rounded before it has been added.
std::optional<NodeId> Derivation::settled(NodeId id) {
  std::vector<NodeId> all = summands(id);
  if (all.empty()) return std::nullopt;
  const TensorType& of = program_.node(id).type;
  if (alike(all)) return cast(settle(total(all), of), of.dtype);
  for (NodeId& one : all) one = settle(one, of);
  return cast(total(all), of.dtype);
}

NodeId Derivation::settle(NodeId x, const TensorType& of) {
  return settle_axes(x, layout_of_gradient(of.layout));
}

NodeId Derivation::settle_axes(NodeId x, const Layout& wanted) {
  const Layout found = type(x).layout;
  AxisList gather, reduce, broadcast;
  for (int axis = 0; axis < wanted.axes(); ++axis) {
    if (found.at(axis) == wanted.at(axis)) continue;
    if (found.is<Sliced>(axis)) gather.push_back(axis);
    if (found.is<Rooted>(axis)) broadcast.push_back(axis);
    const bool is_partial = found.is<Partial>(axis);
    const bool to_all = found.is<Local>(axis) || !wanted.is<Sliced>(axis);
    if ((is_partial && to_all) || found.is<Local>(axis)) reduce.push_back(axis);
  }
  if (!gather.empty()) x = add(AllGather{gather}, {x});
  if (!broadcast.empty()) x = add(Broadcast{std::nullopt, broadcast}, {x});
  if (!reduce.empty()) x = add(AllReduce{Fold::sum, reduce}, {x});
  for (const int axis : wanted.slice_order()) {
    if (type(x).layout.at(axis) == wanted.at(axis)) continue;
    const Slice& slice = wanted.slice(axis);
    if (type(x).layout.is<Partial>(axis)) {
      x = add(ReduceScatter{Fold::sum, slice, {axis}}, {x});
    } else {
      x = add(Shard{slice, {axis}}, {x});
    }
  }
  for (int axis = 0; axis < wanted.axes(); ++axis) {
    const bool to_root = wanted.is<Rooted>(axis) && type(x).layout.is<Replicated>(axis);
    if (to_root) x = add(RootOf{std::get<Rooted>(wanted.at(axis)).root, {axis}}, {x});
  }
  return x;
}

Layout layout_of_gradient(const Layout& value) {
  Layout out(value.axes());
  for (const int axis : value.slice_order()) out = out.with(axis, value.at(axis));
  for (int axis = 0; axis < value.axes(); ++axis) {
    if (value.is<Local>(axis) || value.is<Rooted>(axis)) out = out.with(axis, value.at(axis));
  }
  return out;
}

void no_rule(const Derivation& d, NodeId id, const std::string& why) {
  throw UserError(ErrorKind::unsupported, d.program().label(id) + " has no gradient: " + why,
                  d.program().node(id).where);
}

}  // namespace coconet::gradients
