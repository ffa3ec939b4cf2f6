#include "coconet/schedule/spread.h"

#include <algorithm>

namespace coconet {

bool is_spread(const TensorType& type, const AxisList& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](int axis) {
    return type.layout.is<Sliced>(axis) || type.layout.is<Rooted>(axis);
  });
}

bool is_whole(const TensorType& type, const AxisList& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [&](int axis) { return type.layout.is<Replicated>(axis); });
}

namespace {

// The slice of `like` as one of `value`, whose dims align from the right; none if not spanned.
std::optional<Slice> slice_for(const Slice& slice, const TensorType& value,
                               const TensorType& like) {
  if (slice.flat) return value.shape == like.shape ? std::optional(slice) : std::nullopt;
  const int shift = value.rank() - like.rank();
  if (slice.first + shift < 0) return std::nullopt;
  for (int d = slice.first; d <= slice.last; ++d) {
    if (!(value.shape[d + shift] == like.shape[d])) return std::nullopt;
  }
  return Slice::range(slice.first + shift, slice.last + shift);
}

// The axes that are sliced in cutting order, then the others ascending.
AxisList in_order(const Layout& layout, const AxisList& axes) {
  AxisList out;
  for (int axis : layout.slice_order()) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) out.push_back(axis);
  }
  for (int axis : axes) {
    if (!layout.is<Sliced>(axis)) out.push_back(axis);
  }
  return out;
}

}  // namespace

std::optional<std::vector<Op>> spread_ops(const TensorType& value, const TensorType& like,
                                          const AxisList& axes) {
  std::vector<Op> ops;
  for (int axis : in_order(like.layout, axes)) {
    if (like.layout.is<Rooted>(axis)) {
      if (!(value.shape == like.shape)) return std::nullopt;
      const int root = std::get<Rooted>(like.layout.at(axis)).root;
      RootOf* last = ops.empty() ? nullptr : std::get_if<RootOf>(&ops.back());
      if (last && last->root == root) {
        last->axes.push_back(axis);
      } else {
        ops.push_back(RootOf{root, {axis}});
      }
      continue;
    }
    if (!like.layout.is<Sliced>(axis)) return std::nullopt;
    const auto slice = slice_for(like.layout.slice(axis), value, like);
    if (!slice) return std::nullopt;
    Shard* last = ops.empty() ? nullptr : std::get_if<Shard>(&ops.back());
    if (last && last->slice == *slice && last->axes.back() < axis) {
      last->axes.push_back(axis);
    } else {
      ops.push_back(Shard{*slice, {axis}});
    }
  }
  return ops;
}

NodeId add_spread(GraphBuilder& builder, NodeId value, const std::vector<Op>& ops,
                  const Where& where) {
  if (ops.size() == 1) {
    const Node& node = builder.node(value);
    const bool gathered =
        std::holds_alternative<AllGather>(node.op) || std::holds_alternative<Broadcast>(node.op);
    if (gathered && axes_of(node.op) == axes_of(ops[0])) {
      const auto placed = spread_ops(node.type, builder.type(node.inputs[0]), axes_of(node.op));
      if (placed && *placed == ops) return node.inputs[0];
    }
  }
  for (const Op& op : ops) value = builder.add(op, {value}, "", where);
  return value;
}

NodeId add_whole(Rebuild& rebuild, NodeId value, const AxisList& axes, std::string_view name,
                 const Where& where) {
  const Layout& layout = rebuild.type(value).layout;
  AxisList sliced, rooted;
  for (int axis : axes) {
    if (layout.is<Sliced>(axis)) sliced.push_back(axis);
    if (layout.is<Rooted>(axis)) rooted.push_back(axis);
  }
  if (!sliced.empty()) {
    value = rebuild.add(AllGather{sliced}, {value}, std::string(name) + "_gather", where);
  }
  if (!rooted.empty()) {
    value = rebuild.add(Broadcast{std::nullopt, rooted}, {value}, std::string(name) + "_broadcast",
                        where);
  }
  return value;
}

}  // namespace coconet
