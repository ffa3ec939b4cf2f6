#include "coconet/graph/infer_rules.h"

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/type/list.h"

namespace coconet::rules {

std::string Call::text() const {
  const Pointwise* pointwise = std::get_if<Pointwise>(&op);
  std::string out(word_of(op));
  if (pointwise && operands.size() == 2 && !symbol_of(pointwise->fn).empty()) {
    return operands[0].text(mesh) + " " + out + " " + operands[1].text(mesh);
  }
  out += '(';
  for (std::size_t i = 0; i < operands.size(); ++i) {
    out += (i > 0 ? ", " : "") + operands[i].text(mesh);
  }
  if (const Matmul* matmul = std::get_if<Matmul>(&op)) {
    out += std::string(matmul->ta ? ", ta=true" : "") + (matmul->tb ? ", tb=true" : "");
  }
  return out + ")" + (axes_of(op).empty() ? "" : text_of_axes(mesh, axes_of(op)));
}

std::string Call::on(int axis) const { return "on axis " + mesh.axes[axis]; }

const Placement& Call::at(int operand, int axis) const { return operands[operand].layout.at(axis); }

void refuse(const Call& call, const std::string& why, const std::string& legal) {
  throw UserError(ErrorKind::type, call.text() + ": " + why + "; legal: " + legal);
}

void need_operands(const Call& call, int count) {
  check(static_cast<int>(call.operands.size()) == count, "an operation has all its operands");
}

void need_numbers(const Call& call, const DType& dtype) {
  if (dtype.kind != DTypeKind::boolean) return;
  refuse(call, "found bool, needed numbers",
         "cast it first, for example cast(x, i32), or use and, or, not, where");
}

void need_floating(const Call& call, const DType& dtype) {
  if (is_floating(dtype.kind)) return;
  const std::string kind =
      dtype.parameter.empty() ? "" : ", here " + std::string(name_of(dtype.kind));
  refuse(call, "found " + dtype.text() + kind + ", needed a floating dtype",
         "cast it to f32 or f64 first");
}

void need_one_dtype(const Call& call, const DType& a, const DType& b, const std::string& more) {
  if (a == b) return;
  refuse(call,
         "operands of dtypes " + a.text() + " and " + b.text() +
             "; needed one dtype, as nothing is promoted silently",
         "cast(a, " + b.text() + ") or cast(b, " + a.text() + ")" + more);
}

namespace {

// Operations that map over members or move a list whole; folds give one scalar a member.
bool maps_over_lists(const Op& op) {
  return std::holds_alternative<Pointwise>(op) || std::holds_alternative<Cast>(op) ||
         std::holds_alternative<Dropout>(op) || std::holds_alternative<Reduce>(op) ||
         std::holds_alternative<Norm>(op) || std::holds_alternative<BlockReduce>(op) ||
         std::holds_alternative<FoldBlocks>(op) || std::holds_alternative<Across>(op) ||
         std::holds_alternative<Update>(op) || std::holds_alternative<AllReduce>(op) ||
         std::holds_alternative<ReduceScatter>(op) || std::holds_alternative<AllGather>(op) ||
         std::holds_alternative<ReduceTo>(op) || std::holds_alternative<Broadcast>(op) ||
         std::holds_alternative<Shard>(op) || std::holds_alternative<RootOf>(op) ||
         std::holds_alternative<AsPartial>(op) || std::holds_alternative<Shift>(op);
}

bool folds_members(const Op& op) {
  return std::holds_alternative<Reduce>(op) || std::holds_alternative<Norm>(op) ||
         std::holds_alternative<BlockReduce>(op);
}

}  // namespace

void check_lists(const Call& call) {
  for (const TensorType& type : call.operands) {
    if (!type.is_list()) continue;
    if (!maps_over_lists(call.op)) {
      refuse(call, std::string(name_of(call.op)) + " takes no lists; found " + type.text(call.mesh),
             "pointwise operations, dropout, update, norm and tensor-wide reductions of each "
             "member, across, all_reduce, reduce_scatter, all_gather, reduce, broadcast and shift; "
             "declare the tensors one by one for others");
    }
    if (folds_members(call.op) && type.is_scalar_list()) {
      refuse(call, "the members of " + type.text(call.mesh) + " are scalars, each its own fold",
             "across(x, +), which folds them to one");
    }
    const Reduce* reduce = std::get_if<Reduce>(&call.op);
    if (reduce && !reduce->dims.empty()) {
      const std::string name(name_of(reduce->fn));
      refuse(call, "dims of a list are not reduced one by one; found " + type.text(call.mesh),
             name + "(x), one scalar for each member");
    }
  }
}

TensorType of_members(const TensorType& x, const DType& dtype) {
  return list_of(dtype, {}, x.layout, list_index(x.shape[0]));
}

bool is_sum(const Placement& placement) {
  const Partial* partial = std::get_if<Partial>(&placement);
  return partial && partial->fold == Fold::sum;
}

Layout moved(const Layout& layout, int offset) {
  Layout out(layout.axes());
  for (int axis : layout.slice_order()) {
    Slice slice = layout.slice(axis);
    if (!slice.flat) {
      slice.first += offset;
      slice.last += offset;
    }
    out = out.with(axis, Sliced{slice});
  }
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (!layout.is<Sliced>(axis)) out = out.with(axis, layout.at(axis));
  }
  return out;
}

namespace {

// The axes that cut before `axis` and overlap its slice; empty if the layout does not slice it.
AxisList cut_before(const Layout& layout, int axis) {
  AxisList out;
  for (int earlier : layout.slice_order()) {
    if (earlier == axis) {
      std::sort(out.begin(), out.end());
      return out;
    }
    if (layout.is<Sliced>(axis) && layout.slice(earlier).overlaps(layout.slice(axis))) {
      out.push_back(earlier);
    }
  }
  return {};
}

[[noreturn]] void refuse_lists(const Call& call, int axis) {
  refuse(call,
         "the slices overlap, and axis " + call.mesh.axes[axis] +
             " does not cut the same piece in every operand; needed: the list of axes that slice "
             "one operand equals that of the result or begins it",
         "all_gather the operand whose list differs over that axis first, or slice it over the "
         "same axes in the same order");
}

// An axis not yet placed, all of whose predecessors in every operand are; -1 if there is none.
int next_axis(const Layout& placed, const std::vector<Layout>& operands) {
  for (int axis = 0; axis < placed.axes(); ++axis) {
    if (placed.is<Sliced>(axis)) continue;
    bool sliced = false;
    bool ready = true;
    for (const Layout& operand : operands) {
      sliced = sliced || operand.is<Sliced>(axis);
      for (int earlier : cut_before(operand, axis)) ready = ready && placed.is<Sliced>(earlier);
    }
    if (sliced && ready) return axis;
  }
  return -1;
}

}  // namespace

Layout with_slices(const Call& call, Layout base, const std::vector<Layout>& operands) {
  for (int axis = next_axis(base, operands); axis >= 0; axis = next_axis(base, operands)) {
    for (const Layout& operand : operands) {
      if (!operand.is<Sliced>(axis)) continue;
      for (int earlier : base.slice_order()) {
        if (base.slice(earlier).overlaps(operand.slice(axis)) &&
            !operand.slice(axis).covers(base.slice(earlier))) {
          refuse_lists(call, axis);
        }
      }
      base = base.with(axis, operand.at(axis));
      break;
    }
  }
  for (const Layout& operand : operands) {
    for (int axis : operand.slice_order()) {
      if (!base.is<Sliced>(axis) || cut_before(base, axis) != cut_before(operand, axis)) {
        refuse_lists(call, axis);
      }
    }
  }
  return base;
}

Placement joined(const Call& call, int axis, const std::vector<Placement>& at) {
  Placement result = Replicated{};
  for (const Placement& placement : at) {
    if (std::holds_alternative<Replicated>(placement) || placement == result) continue;
    if (!std::holds_alternative<Replicated>(result)) {
      const bool slices =
          std::holds_alternative<Sliced>(placement) && std::holds_alternative<Sliced>(result);
      refuse(call,
             call.on(axis) + " one operand is " + text_of(result) + " and another " +
                 text_of(placement) + " (dims counted in the result); needed: " +
                 (slices ? "the same slice" : "the same placement") +
                 " in every operand that is not replicated there",
             slices ? "all_gather one operand first, or slice both over the same dims"
                    : "bring the operands to one placement first, or make one replicated");
    }
    result = placement;
  }
  return result;
}

}  // namespace coconet::rules
