// Movement of data: transpose, reshape, narrow, concat. Each rank moves what it has; a slice moves
// with its dims or the operation is refused.
#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/graph/infer_rules.h"

namespace coconet::rules {
namespace {

constexpr const char* kGather = "all_gather it first, or slice it by other dims";

// The placements that are no slices.
Layout without_slices(const Layout& layout) {
  Layout out(layout.axes());
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (!layout.is<Sliced>(axis)) out = out.with(axis, layout.at(axis));
  }
  return out;
}

void need_dim(const Call& call, int dim) {
  const int rank = call.operands[0].rank();
  if (dim >= 0 && dim < rank) return;
  refuse(call, "there is no dim " + std::to_string(dim),
         rank == 0 ? "a tensor of one dim or more"
                   : "the dims of the operand, numbered 0 to " + std::to_string(rank - 1));
}

// Where the slice's dims stand in the result; they must stay adjacent and in order.
Slice transposed(const Call& call, const Transpose& op, int axis) {
  const Slice& slice = call.operands[0].layout.slice(axis);
  if (slice.flat && std::is_sorted(op.order.begin(), op.order.end())) return slice;
  const auto place = [&](int dim) {
    return static_cast<int>(std::find(op.order.begin(), op.order.end(), dim) - op.order.begin());
  };
  bool together = !slice.flat;
  for (int d = slice.first; d < slice.last; ++d)
    together = together && place(d + 1) == place(d) + 1;
  if (together) return Slice::range(place(slice.first), place(slice.last));
  refuse(call,
         call.on(axis) + " the operand is sliced" + slice.text() +
             ", which takes dims as one index that the transpose parts",
         "all_gather it first, slice it by one dim, or keep those dims together and in order");
}

// Adjacent dims of the operand and of the result that are the same index.
struct Group {
  int in_first, in_last, out_first, out_last;  // inclusive
};

// The groups, as small as the dims' names tell; dims that are a literal 1 are in none. Empty with
// `fits` false if the shapes have different numbers of elements.
std::vector<Group> groups_of(const Call& call, const Shape& in, const Shape& out, bool* fits) {
  const auto spelled = [&](const Dim& dim) { return spelled_out(call.requirements, dim); };
  std::vector<Group> groups;
  std::size_t i = 0, o = 0;
  const auto skip_ones = [](const Shape& shape, std::size_t& at) {
    while (at < shape.size() && shape[at].is_one()) ++at;
  };
  *fits = true;
  for (;;) {
    skip_ones(in, i);
    skip_ones(out, o);
    if (i == in.size() && o == out.size()) return groups;
    // The nearest ends at which the products agree.
    bool found = false;
    Dim left;
    for (std::size_t p = i; p < in.size() && !found; ++p) {
      left = left * spelled(in[p]);
      Dim right;
      for (std::size_t q = o; q < out.size() && !found; ++q) {
        right = right * spelled(out[q]);
        if (!(left == right)) continue;
        found = true;
        groups.push_back(
            {static_cast<int>(i), static_cast<int>(p), static_cast<int>(o), static_cast<int>(q)});
      }
    }
    if (!found) {
      *fits = false;
      return {};
    }
    i = groups.back().in_last + 1;
    o = groups.back().out_last + 1;
  }
}

class Reshaped {
 public:
  Reshaped(const Call& call, const Shape& out) : call_(call), x_(call.operands[0]), out_(out) {
    bool fits = false;
    groups_ = groups_of(call, x_.shape, out, &fits);
    if (fits) return;
    const Dim from = product_of(x_.shape), to = product_of(out);
    refuse(call,
           "it has " + from.text() + " elements, and " + text_of(out) + " has " + to.text() +
               "; needed: the same product of dims",
           "dims whose product is that of the operand's, or `require H == nh * hd` for a dim that "
           "is another product");
  }

  Slice slice(int axis) const {
    const Slice& slice = x_.layout.slice(axis);
    if (slice.flat) return slice;
    const Group* first = group_with(slice.first);
    const Group* last = group_with(slice.last);
    if (first && last && slice.first == first->in_first && slice.last == last->in_last) {
      return whole(axis, *first, *last);
    }
    // Leading dims of one group, whose cuts fall between their rows.
    if (first && first == last && slice.first == first->in_first) {
      const Dim leading = product(x_.shape, slice.first, slice.last);
      if (is_divided(call_.requirements, leading, axes_until(axis))) {
        return split(axis, *first).value_or(Slice::range(first->out_first, first->out_last));
      }
    }
    refuse_slice(axis);
  }

 private:
  const Group* group_with(int dim) const {
    for (const Group& group : groups_) {
      if (group.in_first <= dim && dim <= group.in_last) return &group;
    }
    return nullptr;
  }

  static Dim product(const Shape& shape, int first, int last) {
    return product_of(Shape(shape.begin() + first, shape.begin() + last + 1));
  }

  // The axis with those that cut before it and overlap it.
  AxisList axes_until(int axis) const {
    AxisList out;
    for (int earlier : x_.layout.slice_order()) {
      if (x_.layout.slice(earlier).overlaps(x_.layout.slice(axis))) out.push_back(earlier);
      if (earlier == axis) break;
    }
    return out;
  }

  // All dims of the groups; of a group that is split, its leading dims if they divide.
  Slice whole(int axis, const Group& first, const Group& last) const {
    const Slice all = Slice::range(first.out_first, last.out_last);
    return &first == &last ? split(axis, first).value_or(all) : all;
  }

  // The fewest leading dims of the group's result of which the ranks have whole rows.
  std::optional<Slice> split(int axis, const Group& group) const {
    for (int end = group.out_first; end < group.out_last; ++end) {
      const Dim leading = product(out_, group.out_first, end);
      if (is_divided(call_.requirements, leading, axes_until(axis))) {
        return Slice::range(group.out_first, end);
      }
    }
    return std::nullopt;
  }

  [[noreturn]] void refuse_slice(int axis) const {
    const Slice& slice = x_.layout.slice(axis);
    const Group* group = group_with(slice.first);
    std::string legal = "all_gather it first, or slice it by all the dims that are merged or split";
    if (group && slice.first == group->in_first && slice.last < group->in_last) {
      std::string sizes;
      for (int by : axes_until(axis)) {
        sizes += (sizes.empty() ? "size(" : " * size(") + call_.mesh.axes[by] + ")";
      }
      if (sizes.find('*') != std::string::npos) sizes = "(" + sizes + ")";
      legal += ", or `require " + product(x_.shape, slice.first, slice.last).text() + " % " +
               sizes + " == 0`";
    }
    refuse(call_,
           call_.on(axis) + " the operand is sliced" + slice.text() + ", and the reshape to " +
               text_of(out_) + " merges or splits those dims together with others",
           legal);
  }

  const Call& call_;
  const TensorType& x_;
  const Shape& out_;
  std::vector<Group> groups_;
};

// x's layout with each slice as `moved(axis)` gives it, in the same order.
template <class Moved>
Layout with_moved_slices(const Layout& layout, const Moved& moved) {
  Layout out = without_slices(layout);
  for (int axis : layout.slice_order()) out = out.with(axis, Sliced{moved(axis)});
  return out;
}

// Refuses a slice that cuts `dim` of the operand, which is moved along it.
void need_whole_dim(const Call& call, int operand, int dim) {
  const Layout& layout = call.operands[operand].layout;
  for (int axis : layout.slice_order()) {
    if (!layout.slice(axis).has(dim)) continue;
    refuse(call,
           call.on(axis) + " an operand is sliced" + layout.slice(axis).text() +
               ", which cuts dim " + std::to_string(dim) + "; needed: that dim whole on every rank",
           kGather);
  }
}

// Of dims of one product of names, e.g. H and 3*H; none of others.
std::optional<Dim> sum_of(const std::vector<Dim>& dims) {
  std::int64_t coefficient = 0;
  for (const Dim& dim : dims) {
    if (dim.is_blocks() || dim.names() != dims[0].names()) return std::nullopt;
    if (__builtin_add_overflow(coefficient, dim.coefficient(), &coefficient)) return std::nullopt;
  }
  Dim out(coefficient);
  for (const std::string& name : dims[0].names()) out = out * Dim::named(name);
  return out;
}

Dim size_of_concat(const Call& call, const Concat& op) {
  std::vector<Dim> dims;
  std::string text;
  for (const TensorType& type : call.operands) {
    dims.push_back(type.shape[op.dim]);
    text += (text.empty() ? "" : " + ") + dims.back().text();
  }
  const std::optional<Dim> sum = sum_of(dims);
  if (!sum && !op.size) {
    refuse(call,
           "dim " + std::to_string(op.dim) + " of the result is " + text + ", no product of dims",
           "its size as a dim of its own, size=T, checked when sizes are bound");
  }
  if (sum && op.size && *sum != *op.size) {
    refuse(call,
           "dim " + std::to_string(op.dim) + " of the result is " + sum->text() +
               ", but size=" + op.size->text() + " is given",
           "size=" + sum->text() + ", or none");
  }
  return op.size.value_or(*sum);
}

[[noreturn]] void refuse_mixed(const Call& call, int axis) {
  refuse(call, call.on(axis) + " the operands are not sliced alike",
         "shard the whole operands as the sliced ones are first, or all_gather the sliced ones");
}

}  // namespace

TensorType transpose(const Call& call, const Transpose& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  std::vector<int> sorted = op.order;
  std::sort(sorted.begin(), sorted.end());
  bool permutes = static_cast<int>(sorted.size()) == x.rank();
  for (int d = 0; permutes && d < x.rank(); ++d) permutes = sorted[d] == d;
  if (!permutes) {
    refuse(call, "the order does not name each dim of the operand once",
           "the dims 0 to " + std::to_string(x.rank() - 1) + " in another order");
  }
  TensorType out{x.dtype, {}, x.layout};
  for (int d : op.order) out.shape.push_back(x.shape[d]);
  out.layout = with_moved_slices(x.layout, [&](int axis) { return transposed(call, op, axis); });
  return out;
}

TensorType reshape(const Call& call, const Reshape& op) {
  need_operands(call, 1);
  const TensorType& x = call.operands[0];
  const Reshaped reshaped(call, op.shape);
  TensorType out{x.dtype, op.shape, x.layout};
  out.layout = with_moved_slices(x.layout, [&](int axis) { return reshaped.slice(axis); });
  return out;
}

TensorType narrow(const Call& call, const Narrow& op) {
  need_operands(call, 1);
  need_dim(call, op.dim);
  const TensorType& x = call.operands[0];
  const Dim& whole = x.shape[op.dim];
  // What sizes would say is said now where the dims are multiples of the same names.
  const bool comparable = whole.names() == op.length.names() && !whole.is_blocks() &&
                          (op.start == Dim(0) || op.start.names() == whole.names());
  if (comparable && op.start.coefficient() > whole.coefficient() - op.length.coefficient()) {
    refuse(call,
           "elements " + op.start.text() + " to " + op.start.text() + " + " + op.length.text() +
               " are not all in dim " + std::to_string(op.dim) + ", which has " + whole.text(),
           "a start and a length inside the dim");
  }
  need_whole_dim(call, 0, op.dim);
  TensorType out = x;
  out.shape[op.dim] = op.length;
  return out;
}

TensorType concat(const Call& call, const Concat& op) {
  check(!call.operands.empty(), "a concat has operands");
  need_dim(call, op.dim);
  const TensorType& first = call.operands[0];
  TensorType out = first;
  for (const TensorType& type : call.operands) {
    bool same = type.rank() == first.rank() && type.dtype == first.dtype;
    for (int d = 0; same && d < first.rank(); ++d) {
      same = d == op.dim || type.shape[d] == first.shape[d];
    }
    if (same) continue;
    refuse(
        call,
        "operands of different dtypes, or of different dims beside dim " + std::to_string(op.dim),
        "operands that differ in the dim along which they are joined alone");
  }
  out.shape[op.dim] = size_of_concat(call, op);
  out.layout = Layout(call.mesh.size());
  for (int axis = 0; axis < call.mesh.size(); ++axis) {
    std::vector<Placement> at;
    for (const TensorType& type : call.operands) at.push_back(type.layout.at(axis));
    const bool equal = std::all_of(at.begin(), at.end(), [&](const auto& p) { return p == at[0]; });
    const auto any = [&]<class Kind>(Kind) {
      return std::any_of(at.begin(), at.end(),
                         [](const Placement& p) { return std::holds_alternative<Kind>(p); });
    };
    if (!equal && any(Partial{})) {
      refuse(call, call.on(axis) + " an operand is partial and another is not, by the same fold",
             "all operands partial(+), or none: reduce first, or as_partial(x, +)");
    }
    if (!equal && any(Sliced{})) refuse_mixed(call, axis);
    const Placement placement = equal ? at[0] : joined(call, axis, at);
    if (!std::holds_alternative<Sliced>(placement)) out.layout = out.layout.with(axis, placement);
  }
  for (int axis : first.layout.slice_order()) {
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      need_whole_dim(call, static_cast<int>(i), op.dim);
      if (call.operands[i].layout.slice_order() != first.layout.slice_order()) {
        refuse_mixed(call, axis);
      }
    }
    out.layout = out.layout.with(axis, first.layout.at(axis));
  }
  return out;
}

}  // namespace coconet::rules
