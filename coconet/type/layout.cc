#include "coconet/type/layout.h"

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet {

std::string_view name_of(Fold fold) {
  switch (fold) {
    case Fold::sum: return "+";
    case Fold::max: return "max";
    case Fold::min: return "min";
    case Fold::prod: return "prod";
  }
  throw InternalError("a Fold outside its enumerators");
}

bool Slice::overlaps(const Slice& other) const {
  if (flat || other.flat) return true;
  return first <= other.last && other.first <= last;
}

bool Slice::covers(const Slice& other) const {
  if (flat) return true;
  return !other.flat && first <= other.first && other.last <= last;
}

std::string Slice::text() const {
  if (flat) return "(*)";
  if (first == last) return "(" + std::to_string(first) + ")";
  return "(" + std::to_string(first) + ".." + std::to_string(last) + ")";
}

std::string text_of(const Placement& placement) {
  struct Text {
    std::string operator()(const Replicated&) const { return "replicated"; }
    std::string operator()(const Sliced& s) const { return "sliced" + s.slice.text(); }
    std::string operator()(const Partial& p) const {
      return "partial(" + std::string(name_of(p.fold)) + ")";
    }
    std::string operator()(const Rooted& r) const {
      return "rooted(" + std::to_string(r.root) + ")";
    }
    std::string operator()(const Local&) const { return "local"; }
  };
  return std::visit(Text{}, placement);
}

Layout Layout::with(int axis, const Placement& placement) const {
  check(axis >= 0 && axis < axes(), "an axis of the mesh");
  Layout out = *this;
  std::erase(out.order_, axis);
  out.placements_[axis] = placement;
  if (const Sliced* sliced = std::get_if<Sliced>(&placement)) {
    for (int earlier : out.order_) {
      const Slice& before = out.slice(earlier);
      if (sliced->slice.overlaps(before) && !sliced->slice.covers(before)) {
        throw UserError(ErrorKind::type,
                        "slice " + sliced->slice.text() + " overlaps the earlier slice " +
                            before.text() +
                            " without equalling or containing it; a later slice must cut what "
                            "the earlier ones left: put the smaller range first");
      }
    }
    out.order_.push_back(axis);
  }
  out.make_canonical();
  return out;
}

bool Layout::all_replicated() const {
  return std::all_of(placements_.begin(), placements_.end(),
                     [](const Placement& p) { return std::holds_alternative<Replicated>(p); });
}

// The first axis, in mesh order, before which every overlapping one stands already. (Swapping
// neighbours would not do: its result depends on the order one starts from.)
void Layout::make_canonical() {
  AxisList rest = order_;
  order_.clear();
  while (!rest.empty()) {
    int next = -1;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      bool ready = true;
      for (std::size_t j = 0; j < i; ++j) ready = ready && !slice(rest[j]).overlaps(slice(rest[i]));
      if (ready && (next < 0 || rest[i] < next)) next = rest[i];
    }
    order_.push_back(next);
    std::erase(rest, next);
  }
}

std::string Layout::text(const Mesh& mesh) const {
  std::string out;
  const auto append = [&](const std::string& place, const AxisList& on) {
    if (!out.empty()) out += ' ';
    out += place + text_of_axes(mesh, on);
  };
  for (std::size_t i = 0; i < order_.size();) {
    AxisList same = {order_[i]};
    const Slice& cut = slice(order_[i]);
    for (++i; i < order_.size() && slice(order_[i]) == cut; ++i) same.push_back(order_[i]);
    append("sliced" + cut.text(), same);
  }
  for (int axis = 0; axis < axes(); ++axis) {
    if (!is<Replicated>(axis) && !is<Sliced>(axis)) append(text_of(placements_[axis]), {axis});
  }
  return out;
}

}  // namespace coconet
