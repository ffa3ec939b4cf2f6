// Convolution over the last two dims.
#include "coconet/base/error.h"
#include "coconet/graph/infer_rules.h"

namespace coconet::rules {
namespace {

constexpr const char* kForm = "x[n, c, h, w] and w[o, c, kh, kw]";

// What a slice of an operand cuts.
enum class Part { batch, out_channels, in_channels };

// The size of the result along dim `d`; none if it is no product of dims.
std::optional<Dim> places(const Call& call, const Conv2d& op, int d) {
  const Dim& size = call.operands[0].shape[d];
  const Dim& window = call.operands[1].shape[d];
  if (!window.is_literal()) return std::nullopt;
  const std::int64_t k = window.coefficient(), padding = 2 * std::int64_t{op.padding};
  if (size.is_literal()) {
    const std::int64_t out = places_of(op, size.coefficient(), k);
    if (out > 0) return Dim(out);
    refuse(call,
           "a window of " + window.text() + " has no place along dim " + std::to_string(d) +
               " of " + size.text() + " with padding " + std::to_string(op.padding),
           "a smaller window or more padding");
  }
  // floor((h + padding - k) / stride) + 1 is h / stride for every multiple h of the stride.
  const bool divides = padding < k && k <= padding + op.stride;
  if (!divides || size.coefficient() % op.stride != 0) return std::nullopt;
  Dim out(size.coefficient() / op.stride);
  for (const std::string& name : size.names()) out = out * Dim::named(name);
  return out;
}

Dim size_along(const Call& call, const Conv2d& op, int d) {
  const std::optional<Dim> found = places(call, op, d);
  const std::optional<Dim> given = op.size ? std::optional((*op.size)[d - 2]) : std::nullopt;
  const std::string head = "dim " + std::to_string(d) + " of the result is ";
  if (!found && !given) {
    refuse(call,
           head + "no product of dims, as the size there is " + call.operands[0].shape[d].text() +
               " and the window " + call.operands[1].shape[d].text(),
           "both sizes of the result as dims, size=[OH,OW], checked when sizes are bound");
  }
  if (found && given && *found != *given) {
    refuse(call, head + found->text() + ", but size= gives " + given->text(),
           found->text() + " there, or no size=");
  }
  return given.value_or(*found);
}

Shape shape_of(const Call& call, const Conv2d& op) {
  const Shape& x = call.operands[0].shape;
  const Shape& w = call.operands[1].shape;
  if (x.size() != 4 || w.size() != 4) refuse(call, "both operands need four dims", kForm);
  if (x[1] != w[1]) {
    refuse(call,
           "x has " + x[1].text() + " input channels, dim 1, and w " + w[1].text() +
               "; needed equal dims",
           kForm);
  }
  if (op.stride < 1)
    refuse(call, "found stride " + std::to_string(op.stride), "a stride from 1 on");
  if (op.padding < 0) {
    refuse(call, "found padding " + std::to_string(op.padding), "a padding from 0 on");
  }
  if (op.size && op.size->size() != 2) {
    refuse(call, "size= has " + std::to_string(op.size->size()) + " dims", "two, size=[OH,OW]");
  }
  return {x[0], w[0], size_along(call, op, 2), size_along(call, op, 3)};
}

Part part_of(const Call& call, int operand, const Slice& slice) {
  if (slice == Slice::dim(0)) return operand == 0 ? Part::batch : Part::out_channels;
  if (slice == Slice::dim(1)) return Part::in_channels;
  const std::string name = operand == 0 ? "x" : "w";
  refuse(call,
         name + " is sliced" + slice.text() +
             "; a window needs all of dims 2 and 3, and its neighbours there",
         "slice x by its images, (0), w by its output channels, (0), or both by their input "
         "channels, (1); all_gather(" +
             name + ") first otherwise");
}

Placement sliced_pair(const Call& call, int axis) {
  const Sliced* x = std::get_if<Sliced>(&call.at(0, axis));
  const Sliced* w = std::get_if<Sliced>(&call.at(1, axis));
  const Part part = x ? part_of(call, 0, x->slice) : part_of(call, 1, w->slice);
  if (x && w) {
    const bool inner = part == Part::in_channels && part_of(call, 1, w->slice) == Part::in_channels;
    if (inner) return Partial{Fold::sum};
  } else if (part != Part::in_channels &&
             std::holds_alternative<Replicated>(call.at(x ? 1 : 0, axis))) {
    return Sliced{Slice::dim(part == Part::batch ? 0 : 1)};
  }
  refuse(call,
         call.on(axis) + " the operands are " + text_of(call.at(0, axis)) + " and " +
             text_of(call.at(1, axis)) +
             "; needed: both sliced by their input channels, or one by dim 0 and the other "
             "replicated",
         "all_gather or shard one of them first");
}

Placement pair(const Call& call, int axis) {
  const Placement& x = call.at(0, axis);
  const Placement& w = call.at(1, axis);
  if (std::holds_alternative<Sliced>(x) || std::holds_alternative<Sliced>(w)) {
    return sliced_pair(call, axis);
  }
  if (!std::holds_alternative<Partial>(x) && !std::holds_alternative<Partial>(w)) {
    return joined(call, axis, {x, w});
  }
  refuse(call, call.on(axis) + " an operand is partial",
         "reduce it first, for example all_reduce(x, +)");
}

// Of one operand, the slices of input channels (moved to dim 0), or the others in the result's
// dims.
Layout slices_of(const Call& call, int operand, bool inner) {
  const Layout& layout = call.operands[operand].layout;
  Layout out(layout.axes());
  for (int axis : layout.slice_order()) {
    const Part part = part_of(call, operand, layout.slice(axis));
    if ((part == Part::in_channels) != inner) continue;
    out = out.with(axis, Sliced{Slice::dim(part == Part::out_channels ? 1 : 0)});
  }
  return out;
}

}  // namespace

TensorType conv2d(const Call& call, const Conv2d& op) {
  need_operands(call, 2);
  need_one_dtype(call, call.operands[0].dtype, call.operands[1].dtype);
  need_floating(call, call.operands[0].dtype);
  TensorType result;
  result.dtype = call.operands[0].dtype;
  result.shape = shape_of(call, op);
  Layout base(call.mesh.size());
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    const Placement placement = pair(call, axis);
    if (!std::holds_alternative<Sliced>(placement)) base = base.with(axis, placement);
  }
  with_slices(call, Layout(call.mesh.size()), {slices_of(call, 0, true), slices_of(call, 1, true)});
  result.layout = with_slices(call, base, {slices_of(call, 0, false), slices_of(call, 1, false)});
  return result;
}

}  // namespace coconet::rules
