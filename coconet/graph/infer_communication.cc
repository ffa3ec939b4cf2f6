// Collectives, the free changes of placement, and update.
#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/graph/infer_rules.h"

namespace coconet::rules {
namespace {

void check_axes(const Call& call) {
  need_operands(call, 1);
  const AxisList axes = axes_of(call.op);
  check(!axes.empty(), "a collective names its axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    check(axes[i] >= 0 && axes[i] < call.mesh.size() && (i == 0 || axes[i - 1] < axes[i]),
          "a collective's axes ascend and are the mesh's");
  }
}

bool names(const AxisList& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void need_numbers(const Call& call) {
  if (call.operands[0].dtype.kind == DTypeKind::boolean) {
    refuse(call, "found bool, which is not folded over ranks",
           "cast it first, for example cast(x, i32) with max for any and min for all");
  }
}

// Every partial axis that the operation does not reduce has its fold too.
void need_one_fold(const Call& call, Fold fold) {
  const AxisList axes = axes_of(call.op);
  for (int axis : call.operands[0].layout.axes_that_are<Partial>()) {
    const Fold other = std::get<Partial>(call.at(0, axis)).fold;
    if (!names(axes, axis) && other != fold) {
      refuse(call,
             call.on(axis) + " the value stays partial(" + std::string(name_of(other)) +
                 "), and folds of two operations do not commute",
             "reduce " + call.mesh.axes[axis] + " first");
    }
  }
}

[[noreturn]] void refuse_not_reducible(const Call& call, int axis, const Placement& found) {
  const std::string needed = "; needed: partial or local there";
  const std::string start = call.on(axis) + " the operand is " + text_of(found);
  if (std::holds_alternative<Rooted>(found)) {
    refuse(call, start + ", which one rank holds and nothing remains to fold" + needed,
           "broadcast(x)");
  }
  if (std::holds_alternative<Sliced>(found)) {
    refuse(call, start + ", where every rank holds other elements" + needed, "all_gather(x)");
  }
  refuse(call, start + ": the sum would multiply by N, the number of ranks" + needed,
         "use it as it is, or as_partial(x, +) to count it once");
}

// Every named axis is partial(fold) or local.
void need_reducible(const Call& call, Fold fold) {
  check_axes(call);
  need_numbers(call);
  for (int axis : axes_of(call.op)) {
    const Placement& found = call.at(0, axis);
    if (std::holds_alternative<Local>(found)) continue;
    const Partial* partial = std::get_if<Partial>(&found);
    if (!partial) refuse_not_reducible(call, axis, found);
    if (partial->fold != fold) {
      const std::string name(name_of(partial->fold));
      refuse(call,
             call.on(axis) + " the operand is partial(" + name + ") but the fold is " +
                 std::string(name_of(fold)) + "; needed: the same operation",
             std::string(name_of(call.op)) + " with " + name);
    }
  }
  need_one_fold(call, fold);
}

void need_replicated(const Call& call) {
  check_axes(call);
  for (int axis : axes_of(call.op)) {
    const Placement& found = call.at(0, axis);
    if (std::holds_alternative<Replicated>(found)) continue;
    std::string legal = "an axis on which it is replicated";
    if (std::holds_alternative<Sliced>(found)) legal = "all_gather(x) first";
    if (std::holds_alternative<Rooted>(found)) legal = "broadcast(x) first";
    if (const Partial* partial = std::get_if<Partial>(&found)) {
      const std::string fold(name_of(partial->fold));
      legal = "all_reduce(x, " + fold + ") first, or reduce_scatter(x, " + fold + ", slice)";
    }
    refuse(call, call.on(axis) + " the operand is " + text_of(found) + ", needed replicated",
           legal);
  }
}

void need_root(const Call& call, int root) {
  if (root >= 0) return;
  refuse(call, "the root is " + std::to_string(root) + ", needed the number of a rank",
         "a root from 0 on");
}

// Slices the named axes, in mesh order, after all that slice already.
TensorType sliced_by(const Call& call, const Slice& slice) {
  TensorType result = call.operands[0];
  for (int axis : axes_of(call.op)) result.layout = result.layout.with(axis, Replicated{});
  for (int earlier : result.layout.slice_order()) {
    const Slice& before = result.layout.slice(earlier);
    if (slice.overlaps(before) && !slice.covers(before)) {
      refuse(call,
             "slice " + slice.text() + " overlaps " + before.text() + " of axis " +
                 call.mesh.axes[earlier] + " without equalling or containing it",
             "all_gather axis " + call.mesh.axes[earlier] + " first, or a slice that contains " +
                 before.text());
    }
  }
  for (int axis : axes_of(call.op)) result.layout = result.layout.with(axis, Sliced{slice});
  return result;
}

// No other axis cuts what the named ones left.
void need_innermost(const Call& call) {
  const AxisList axes = axes_of(call.op);
  const Layout& layout = call.operands[0].layout;
  for (auto axis = layout.slice_order().begin(); axis != layout.slice_order().end(); ++axis) {
    if (!names(axes, *axis)) continue;
    for (auto later = axis + 1; later != layout.slice_order().end(); ++later) {
      if (names(axes, *later) || !layout.slice(*later).overlaps(layout.slice(*axis))) continue;
      refuse(call,
             "axis " + call.mesh.axes[*later] + " cuts the piece that axis " +
                 call.mesh.axes[*axis] + " left, so it is gathered first",
             "all_gather over " + call.mesh.axes[*later] + " first, or over both");
    }
  }
}

TensorType placed(const Call& call, const Placement& placement) {
  TensorType result = call.operands[0];
  for (int axis : axes_of(call.op)) result.layout = result.layout.with(axis, placement);
  return result;
}

}  // namespace

TensorType all_reduce(const Call& call, const AllReduce& op) {
  need_reducible(call, op.fold);
  return placed(call, Replicated{});
}

TensorType reduce_scatter(const Call& call, const ReduceScatter& op) {
  need_reducible(call, op.fold);
  return sliced_by(call, op.slice);
}

TensorType all_gather(const Call& call, const AllGather& op) {
  check_axes(call);
  const Layout& layout = call.operands[0].layout;
  for (int axis : op.axes) {
    const Placement& found = layout.at(axis);
    if (std::holds_alternative<Sliced>(found)) continue;
    std::string legal = "an axis that slices it; it needs no gather here";
    if (std::holds_alternative<Rooted>(found)) legal = "broadcast(x)";
    if (std::holds_alternative<Local>(found)) {
      legal = "broadcast(x, r) of one rank's, or a reduction";
    }
    if (const Partial* partial = std::get_if<Partial>(&found)) {
      legal = "all_reduce(x, " + std::string(name_of(partial->fold)) + ")";
    }
    refuse(call, call.on(axis) + " the operand is " + text_of(found) + ", needed sliced", legal);
  }
  need_innermost(call);
  return placed(call, Replicated{});
}

TensorType reduce_to(const Call& call, const ReduceTo& op) {
  need_reducible(call, op.fold);
  need_root(call, op.root);
  return placed(call, Rooted{op.root});
}

TensorType broadcast(const Call& call, const Broadcast& op) {
  check_axes(call);
  if (op.root) need_root(call, *op.root);
  for (int axis : op.axes) {
    const Placement& found = call.at(0, axis);
    const bool rooted = std::holds_alternative<Rooted>(found);
    const bool local = std::holds_alternative<Local>(found);
    if ((rooted && !op.root) || (local && op.root)) continue;
    const std::string start = call.on(axis) + " the operand is " + text_of(found);
    if (rooted) refuse(call, start + ", so its root is known", "broadcast(x)");
    if (local) refuse(call, start + ", so the root must be given", "broadcast(x, r)");
    refuse(call, start + ", needed rooted, or local with a root given",
           std::holds_alternative<Sliced>(found) ? "all_gather(x)"
           : std::holds_alternative<Partial>(found)
               ? "all_reduce(x, " + std::string(name_of(std::get<Partial>(found).fold)) + ")"
               : "use it as it is; every rank holds it already");
  }
  return placed(call, Replicated{});
}

TensorType shard(const Call& call, const Shard& op) {
  need_replicated(call);
  return sliced_by(call, op.slice);
}

TensorType root_of(const Call& call, const RootOf& op) {
  need_replicated(call);
  need_root(call, op.root);
  return placed(call, Rooted{op.root});
}

TensorType as_partial(const Call& call, const AsPartial& op) {
  need_replicated(call);
  need_numbers(call);
  need_one_fold(call, op.fold);
  return placed(call, Partial{op.fold});
}

TensorType shift(const Call& call) {
  check_axes(call);
  const AxisList axes = axes_of(call.op);
  check(axes.size() == 1, "a shift is along one axis");
  const Placement& found = call.at(0, axes[0]);
  if (std::holds_alternative<Replicated>(found) || std::holds_alternative<Local>(found)) {
    return placed(call, Local{});
  }
  std::string legal = "all_gather(x) over it first";
  if (std::holds_alternative<Rooted>(found)) legal = "broadcast(x) over it first";
  if (const Partial* partial = std::get_if<Partial>(&found)) {
    legal = "all_reduce(x, " + std::string(name_of(partial->fold)) + ") over it first";
  }
  refuse(call,
         call.on(axes[0]) + " the operand is " + text_of(found) +
             "; needed: replicated or local there, a whole value to hand on (other axes keep "
             "their placement)",
         legal);
}

TensorType all_to_all(const Call& call, const AllToAll& op) {
  check_axes(call);
  for (int axis : op.axes) {
    const Placement& found = call.at(0, axis);
    if (found == Placement(Sliced{op.from})) continue;
    std::string legal = "shard(x, " + op.to.text() + ")";
    if (const Sliced* sliced = std::get_if<Sliced>(&found)) {
      legal = "all_to_all(x, " + sliced->slice.text() + ", " + op.to.text() + ")";
      if (sliced->slice == op.to) legal = "use it as it is";
    }
    if (std::holds_alternative<Rooted>(found)) legal = "shard(broadcast(x), " + op.to.text() + ")";
    if (std::holds_alternative<Local>(found)) legal = "stack(x) first, which is sliced(0)";
    if (const Partial* partial = std::get_if<Partial>(&found)) {
      legal =
          "reduce_scatter(x, " + std::string(name_of(partial->fold)) + ", " + op.to.text() + ")";
    }
    for (int fitting : op.axes) {
      if (call.at(0, fitting) != Placement(Sliced{op.from})) continue;
      legal =
          "all_to_all(x, " + op.from.text() + ", " + op.to.text() + ")@" + call.mesh.axes[fitting];
      if (std::holds_alternative<Replicated>(found)) {
        legal += ", or shard(x, " + op.from.text() + ")@" + call.mesh.axes[axis] + " first";
      }
    }
    refuse(call,
           call.on(axis) + " the operand is " + text_of(found) + ", needed sliced" + op.from.text(),
           legal);
  }
  if (op.from == op.to) {
    refuse(call, "both slices are " + op.to.text() + ", so there is nothing to exchange",
           "use it as it is");
  }
  need_innermost(call);
  return sliced_by(call, op.to);
}

TensorType stack(const Call& call) {
  check_axes(call);
  const AxisList axes = axes_of(call.op);
  if (axes.size() != 1) {
    refuse(call, "found " + std::to_string(axes.size()) + " axes; a stack is along one",
           "stack over one axis, then over the next");
  }
  const TensorType& operand = call.operands[0];
  const Placement& found = call.at(0, axes[0]);
  if (!std::holds_alternative<Local>(found)) {
    refuse(call,
           call.on(axes[0]) + " the operand is " + text_of(found) +
               ", one value, so there is nothing to stack; needed: local",
           "use it as it is");
  }
  TensorType result{operand.dtype, operand.shape, Layout(call.mesh.size())};
  result.shape.insert(result.shape.begin(), Dim::named(call.mesh.axes[axes[0]]));
  const Layout rest = moved(operand.layout, 1);
  result.layout = result.layout.with(axes[0], Sliced{Slice::dim(0)});
  for (int axis : rest.slice_order()) result.layout = result.layout.with(axis, rest.at(axis));
  for (int axis = 0; axis < rest.axes(); ++axis) {
    if (axis == axes[0] || rest.is<Sliced>(axis)) continue;
    result.layout = result.layout.with(axis, rest.at(axis));
  }
  return result;
}

TensorType update(const Call& call) {
  need_operands(call, 2);
  const TensorType& storage = call.operands[0];
  const TensorType& value = call.operands[1];
  if (value.dtype != storage.dtype) {
    refuse(call,
           "the new value is " + value.dtype.text() + " and the storage " + storage.dtype.text() +
               "; needed the storage's dtype",
           "update(p, cast(e, " + storage.dtype.text() + "))");
  }
  if (value.shape != storage.shape || value.list != storage.list) {
    refuse(call,
           "the new value has shape " + text_of(value.list.value_or(value.shape)) +
               " and the storage " + text_of(storage.list.value_or(storage.shape)) +
               "; needed the storage's shape",
           "a value of exactly that shape");
  }
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    const Placement& found = value.layout.at(axis);
    if (found == storage.layout.at(axis)) continue;
    std::string legal = "declare the storage " + text_of(found);
    if (storage.layout.is<Replicated>(axis) && value.layout.is<Sliced>(axis)) {
      legal = "update(p, all_gather(e)), or storage with the value's slice";
    }
    if (storage.layout.is<Replicated>(axis) && value.layout.is<Local>(axis)) {
      legal =
          "fold over the ranks what is local where it is read, for example all_reduce(g, +); or "
          "declare the storage local, and the ranks' contents will differ";
    }
    if (const Partial* partial = std::get_if<Partial>(&found)) {
      legal = "update(p, all_reduce(e, " + std::string(name_of(partial->fold)) + "))";
    }
    if (storage.layout.is<Sliced>(axis) && value.layout.is<Replicated>(axis)) {
      legal = "update(p, shard(e, " + storage.layout.slice(axis).text() + "))";
    }
    refuse(call,
           call.on(axis) + " the new value is " + text_of(found) + " and the storage " +
               text_of(storage.layout.at(axis)) + "; needed the storage's placement",
           legal);
  }
  if (value.layout != storage.layout) {
    refuse(call, "the new value's slices are cut in another order than the storage's",
           "slice the value over the same axes in the same order");
  }
  return storage;
}

}  // namespace coconet::rules
