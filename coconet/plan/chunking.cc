#include "coconet/plan/chunking.h"

#include <algorithm>
#include <map>

#include "coconet/plan/access.h"
#include "coconet/schedule/overlap.h"

namespace coconet::plan {
namespace {

// The axes whose ranks own the slices that the unit cuts or joins.
AxisList owners_of(const Graph& graph, const Unit& unit) {
  AxisList out;
  for (const Member& member : unit.members) {
    for (NodeId id : member.nodes) {
      const Node& node = graph.node(id);
      const bool blocks = !node.type.shape.empty() && node.type.shape.front().is_blocks();
      const bool sends = std::holds_alternative<Shift>(node.op);  // whole slices, to another rank
      for (int axis : blocks || sends ? AxisList{} : axes_of(node.op)) {
        if (std::find(out.begin(), out.end(), axis) == out.end()) out.push_back(axis);
      }
    }
  }
  return out;
}

class GroupForming {
 public:
  GroupForming(Plan& plan, OverlapGroup group, int first)
      : plan_(plan), group_(std::move(group)), first_(first) {
    for (int l = first; l < static_cast<int>(plan.launches.size()); ++l) {
      const TensorType& type = rows_type(plan.launches[l]);
      if (group_.slice.flat ? !is_owned(type) : type.rank() <= group_.slice.last) continue;
      if (shape_.empty() || type.rank() > static_cast<int>(shape_.size())) shape_ = type.shape;
    }
  }

  void form() {
    std::vector<Launch> before, inside, after;
    for (int l = first_; l < static_cast<int>(plan_.launches.size()); ++l) {
      Launch& launch = plan_.launches[l];
      if (!after.empty()) {
        after.push_back(std::move(launch));
      } else if (can_chunk(launch) && meets_by_rows(inside, launch)) {
        inside.push_back(std::move(launch));
      } else if (meets_nothing(inside, launch)) {
        before.push_back(std::move(launch));
      } else {
        after.push_back(std::move(launch));
      }
    }
    move_idle_copies(inside, before);
    plan_.launches.resize(first_);
    for (Launch& launch : before) plan_.launches.push_back(std::move(launch));
    group_.first = LaunchId{static_cast<int>(plan_.launches.size())};
    const bool group = inside.size() >= 2;
    for (Launch& launch : inside) {
      if (group) launch.overlap = static_cast<int>(plan_.overlaps.size());
      plan_.launches.push_back(std::move(launch));
    }
    group_.last = LaunchId{static_cast<int>(plan_.launches.size()) - 1};
    note(group, inside_names(), after);
    for (Launch& launch : after) plan_.launches.push_back(std::move(launch));
    if (!group) return;
    group_.knob = static_cast<int>(plan_.overlaps.size());
    find_by_rows();
    plan_.overlaps.push_back(group_);
  }

 private:
  const TensorType& rows_type(const Launch& launch) const {
    return std::visit(
        Overloaded{
            [](const Kernel& kernel) -> const TensorType& { return kernel.space; },
            [&](const MatmulLaunch& m) -> const TensorType& { return plan_.buffer(m.out).type; },
            [&](const Conv2dLaunch& c) -> const TensorType& { return plan_.buffer(c.out).type; },
            [&](const ReduceLaunch& r) -> const TensorType& { return plan_.buffer(r.out).type; },
            [&](const MoveLaunch& m) -> const TensorType& { return plan_.buffer(m.out).type; },
        },
        launch.work);
  }

  // Its slices are the owners', or it has none and there are no owners.
  bool is_owned(const TensorType& type) const {
    return std::all_of(group_.axes.begin(), group_.axes.end(), [&](int axis) {
      return type.layout.is<Sliced>(axis) && type.layout.slice(axis) == group_.slice;
    });
  }

  std::string inside_names() const {
    std::string out;
    for (int l = group_.first.index; l <= group_.last.index; ++l) {
      out += (out.empty() ? "" : ", ") + plan_.launches[l].name;
    }
    return out;
  }

  // A copy that meets nothing that runs in chunks gains nothing by them.
  void move_idle_copies(std::vector<Launch>& inside, std::vector<Launch>& before) const {
    const auto idle = [&](const Launch& launch) {
      return launch.staging && std::ranges::all_of(inside, [&](const Launch& other) {
               return &other == &launch || apart(other, launch);
             });
    };
    std::vector<bool> moves;
    for (const Launch& launch : inside) moves.push_back(idle(launch));
    std::vector<Launch> stay;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      (moves[i] ? before : stay).push_back(std::move(inside[i]));
    }
    inside = std::move(stay);
  }

  void note(bool group, const std::string& inside, const std::vector<Launch>& after) {
    if (group_.staging) return;  // Staging::note_whole_copies does
    std::string names;
    for (const Launch& launch : after) names += (names.empty() ? "" : ", ") + launch.name;
    const std::string head = "overlapped " + group_.name + ": ";
    if (!group) {
      plan_.notes.push_back(
          head + "its launches run one after another, as fewer than two of them can " +
          "work on chunks along " + group_.slice.text() +
          " (the others need all of them, or their tensors are cut there by " + "other mesh axes)");
    } else if (!after.empty()) {
      plan_.notes.push_back(head + names + " after all chunks of " + inside +
                            ", as needing them all");
    }
  }

  bool has_rows(const Shape& shape) const {
    if (group_.slice.flat) return shape == shape_;
    if (shape.size() != shape_.size()) return false;
    return std::equal(shape.begin(), shape.begin() + group_.slice.last + 1, shape_.begin());
  }

  // Its rows are whole, or cut by the owners only.
  bool rows_are_the_groups(const TensorType& type) const {
    if (!has_rows(type.shape)) return false;
    for (int axis : type.layout.slice_order()) {
      const Slice& slice = type.layout.slice(axis);
      const bool owner =
          std::find(group_.axes.begin(), group_.axes.end(), axis) != group_.axes.end();
      if (owner && slice == group_.slice) continue;
      if (slice.overlaps(group_.slice)) return false;
    }
    return true;
  }

  bool can_chunk(const Launch& launch) const {
    if (!rows_are_the_groups(rows_type(launch))) return false;
    if (group_.staging && !rows_type(launch).layout.axes_that_are<Rooted>().empty()) return false;
    const int rank = rows_type(launch).rank();
    if (std::holds_alternative<ReduceLaunch>(launch.work)) return false;
    if (std::holds_alternative<MoveLaunch>(launch.work)) return false;
    const bool flat = group_.slice.flat;
    if (const auto* matmul = std::get_if<MatmulLaunch>(&launch.work)) {
      if (flat || group_.slice.last >= rank - 1) return false;
      return matmul->ta || rows_are_the_groups(plan_.buffer(matmul->a).type);
    }
    if (const auto* conv = std::get_if<Conv2dLaunch>(&launch.work)) {
      return group_.slice == Slice::dim(0) && rows_are_the_groups(plan_.buffer(conv->x).type);
    }
    const Kernel& kernel = std::get<Kernel>(launch.work);
    if (kernel.width == RunWidth::block) return false;
    const bool cuts_rows = flat || group_.slice.last >= rank - 1;
    const bool whole = std::any_of(
        kernel.statements.begin(), kernel.statements.end(), [&](const Statement& statement) {
          return std::holds_alternative<FoldBuffer>(statement.action) ||
                 (cuts_rows && std::holds_alternative<ReduceRun>(statement.action));
        });
    const bool once =
        std::any_of(kernel.stores.begin(), kernel.stores.end(), [&](const Store& store) {
          const Level level = kernel.statements[store.value.index].level;
          return level == Level::call || (cuts_rows && level == Level::run);
        });
    return !whole && !once;
  }

  // Chunk c of the launch touches only chunk c of the buffer.
  bool by_rows(const Launch& launch, const Access& access) const {
    if (const auto* matmul = std::get_if<MatmulLaunch>(&launch.work)) {
      return access.buffer != matmul->b && (access.buffer != matmul->a || !matmul->ta);
    }
    if (const auto* conv = std::get_if<Conv2dLaunch>(&launch.work)) {
      return access.buffer != conv->w;
    }
    const Kernel* kernel = std::get_if<Kernel>(&launch.work);
    const auto scatters = [&](const Store& store) {
      return store.held && store.buffer == access.buffer;
    };
    if (!kernel || std::any_of(kernel->stores.begin(), kernel->stores.end(), scatters))
      return false;
    return has_rows(plan_.buffer(access.buffer).type.shape);
  }

  void find_by_rows() {
    std::map<BufferId, bool> touched;
    for (int l = group_.first.index; l <= group_.last.index; ++l) {
      const Launch& launch = plan_.launches[l];
      for (const Access& access : accesses_of(plan_, launch)) {
        const bool rows = by_rows(launch, access);
        const auto [at, fresh] = touched.try_emplace(
            access.buffer, rows && rows_are_the_groups(plan_.buffer(access.buffer).type));
        at->second = at->second && rows;
      }
    }
    for (const auto& [buffer, rows] : touched) {
      if (rows) group_.by_rows.push_back(buffer);
    }
  }

  // Whether `accept` says yes to every two accesses that meet.
  template <class Accept>
  bool meets(const Launch& earlier, const Launch& launch, const Accept& accept) const {
    for (const Access& a : accesses_of(plan_, earlier)) {
      for (const Access& b : accesses_of(plan_, launch)) {
        if (a.buffer != b.buffer || (!a.write && !b.write)) continue;
        if (!accept(earlier, a, b)) return false;
      }
    }
    return true;
  }

  bool meets_by_rows(const std::vector<Launch>& inside, const Launch& launch) const {
    return std::ranges::all_of(inside, [&](const Launch& other) {
      return meets(other, launch, [&](const Launch& earlier, const Access& a, const Access& b) {
        return by_rows(earlier, a) && by_rows(launch, b);
      });
    });
  }

  bool meets_nothing(const std::vector<Launch>& inside, const Launch& launch) const {
    return std::ranges::all_of(inside, [&](const Launch& other) { return apart(other, launch); });
  }

  bool apart(const Launch& one, const Launch& other) const {
    return meets(one, other, [](const Launch&, const Access&, const Access&) { return false; });
  }

  Plan& plan_;
  OverlapGroup group_;
  int first_;
  Shape shape_;  // of the tensors whose rows are cut
};

}  // namespace

std::optional<Slice> chunked_slice(const Graph& graph, const Unit& unit) {
  if (!unit.overlapped.valid() || owners_of(graph, unit).size() > 1) return std::nullopt;
  const Slice slice = chunk_slice_of(graph, unit.overlapped);
  return slice.flat || slice.first == 0 ? std::optional(slice) : std::nullopt;
}

void form_overlap_group(Plan& plan, const Unit& unit, int first) {
  if (!unit.overlapped.valid()) return;
  const std::string& name = plan.graph.group(unit.overlapped).name;
  const AxisList axes = owners_of(plan.graph, unit);
  const std::optional<Slice> slice = chunked_slice(plan.graph, unit);
  if (!slice) {
    plan.notes.push_back("overlapped " + name + ": its launches run one after another, as its " +
                         (axes.size() > 1
                              ? std::string("slices are of several mesh axes")
                              : "slices " + chunk_slice_of(plan.graph, unit.overlapped).text() +
                                    " are not of leading dims"));
    return;
  }
  OverlapGroup group;
  group.name = name;
  group.slice = *slice;
  group.axes = axes;
  GroupForming(plan, std::move(group), first).form();
}

void form_staging_group(Plan& plan, int first) {
  const auto meets_peers = [&](const Launch& launch) {
    return std::holds_alternative<Kernel>(launch.work) && !launch.staging;
  };
  const auto from = plan.launches.begin() + first;
  const auto user = std::find_if(from, plan.launches.end(), meets_peers);
  if (user == plan.launches.end()) return;
  const TensorType& space = std::get<Kernel>(user->work).space;
  if (space.rank() == 0) return;
  OverlapGroup group;
  group.name = "staging of " + user->name;
  group.staging = true;
  group.slice = space.layout.slice_order().empty() ? Slice::all() : Slice::dim(0);
  for (int axis : space.layout.slice_order()) {
    const Slice& slice = space.layout.slice(axis);
    if (!slice.flat && slice.first != 0) continue;
    group.slice = slice;
    group.axes.push_back(axis);
  }
  // The slices of an overlapped group are of one axis.
  if (group.axes.size() <= 1) GroupForming(plan, std::move(group), first).form();
}

}  // namespace coconet::plan
