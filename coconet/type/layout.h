// How a tensor is distributed: a placement per mesh axis.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coconet/type/mesh.h"

namespace coconet {

enum class Fold { sum, max, min, prod };
std::string_view name_of(Fold fold);  // "+", "max", "min", "prod"

// Which dims a slice cuts: the adjacent dims first..last taken as one row-major index, or the whole
// tensor as one flat index, cut at multiples of kBlock.
struct Slice {
  int first = 0;
  int last = 0;
  bool flat = false;

  static Slice dim(int d) { return {d, d, false}; }
  static Slice range(int first, int last) { return {first, last, false}; }
  static Slice all() { return {0, 0, true}; }

  bool overlaps(const Slice& other) const;
  bool covers(const Slice& other) const;  // equals or contains
  bool has(int dim) const { return flat || (first <= dim && dim <= last); }
  std::string text() const;  // "(0)", "(0..1)", "(*)"
  friend bool operator==(const Slice&, const Slice&) = default;
};

struct Replicated {
  friend bool operator==(const Replicated&, const Replicated&) = default;
};
struct Sliced {
  Slice slice;
  friend bool operator==(const Sliced&, const Sliced&) = default;
};
struct Partial {
  Fold fold = Fold::sum;
  friend bool operator==(const Partial&, const Partial&) = default;
};
struct Rooted {
  int root = 0;
  friend bool operator==(const Rooted&, const Rooted&) = default;
};
struct Local {
  friend bool operator==(const Local&, const Local&) = default;
};
using Placement = std::variant<Replicated, Sliced, Partial, Rooted, Local>;

std::string text_of(const Placement& placement);  // "replicated", "sliced(0..1)", "partial(+)", ...

// One placement per mesh axis, and the order in which the sliced axes cut, major first. The order
// is canonical: slices that do not overlap stand in mesh order, overlapping ones in the order in
// which they were applied.
class Layout {
 public:
  Layout() = default;
  explicit Layout(int axes) : placements_(axes, Replicated{}) {}

  int axes() const { return static_cast<int>(placements_.size()); }
  const Placement& at(int axis) const { return placements_[axis]; }
  const AxisList& slice_order() const { return order_; }

  // This layout with `axis` placed otherwise. A slice cuts what the axes sliced so far left.
  // UserError if it overlaps an earlier slice that it neither equals nor contains.
  Layout with(int axis, const Placement& placement) const;
  bool all_replicated() const;
  template <class Kind>
  bool is(int axis) const {
    return std::holds_alternative<Kind>(placements_[axis]);
  }
  template <class Kind>
  AxisList axes_that_are() const {
    AxisList out;
    for (int axis = 0; axis < axes(); ++axis) {
      if (is<Kind>(axis)) out.push_back(axis);
    }
    return out;
  }
  const Slice& slice(int axis) const { return std::get<Sliced>(placements_[axis]).slice; }

  // "sliced(0)@dp partial(+)@tp"; replicated axes are left out, and `@axis` on a mesh of one axis;
  // "" if all are replicated. Sliced axes that overlap print in slice order; equal slices as
  // "sliced(0)@[dp,tp]".
  std::string text(const Mesh& mesh) const;
  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  void make_canonical();

  std::vector<Placement> placements_;
  AxisList order_;
};

}  // namespace coconet
