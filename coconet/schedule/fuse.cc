#include "coconet/schedule/fuse.h"

#include <algorithm>
#include <optional>

#include "coconet/schedule/phases.h"
#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/space.h"

namespace coconet {
namespace {

using Parts = std::vector<std::vector<NodeId>>;

std::optional<Refusal> refuse_parts(const Graph& graph, const Parts& parts) {
  NodeSet seen = none_of(graph);
  for (const std::vector<NodeId>& part : parts) {
    for (NodeId id : part) {
      if (op_as<Input>(graph, id)) {
        return Refusal{quoted(graph, id) + " is an input; fuse takes operations", id};
      }
      if (seen[id.index]) return Refusal{quoted(graph, id) + " is given twice", id};
      seen[id.index] = true;
      const GroupId group = outermost_group(graph, id);
      if (!group.valid()) continue;
      return Refusal{quoted(graph, id) + " is in the group `" + graph.group(group).name +
                         "` already; give all parts to one fuse",
                     id};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_order(const Graph& graph, const Parts& parts) {
  for (std::size_t later = 1; later < parts.size(); ++later) {
    const NodeSet after = dependents(graph, set_of(graph, parts[later]));
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      for (NodeId id : parts[earlier]) {
        if (!after[id.index]) continue;
        const NodeId source = parts[later][0];
        return Refusal{"wrong order: " + quoted(graph, id) + " depends on " +
                           quoted(graph, source) +
                           ", which is given after it; give the parts in "
                           "the order prologue, reduce_scatter, body, gathers",
                       id};
      }
    }
  }
  return std::nullopt;
}

// Checks every member against what one kernel can run.
class Members {
 public:
  Members(const Graph& graph, const NodeSet& set)
      : graph_(graph), set_(set), readers_(readers_of(graph)) {}

  std::optional<Refusal> refuse() {
    if (auto refusal = find_collectives()) return refusal;
    const auto type = space_of_fused(graph_, set_);
    if (!type && scatter_.valid()) return std::nullopt;
    if (!type) return Refusal{"all of it is scalar; there is nothing to fuse", {}};
    Space space(graph_, *type, set_);
    const NodeSet prologue = prologue_nodes();
    for (NodeId id : list_of(set_)) {
      auto refusal = prologue[id.index] ? refuse_prologue(id, space) : refuse_member(id, space);
      if (refusal) return refusal;
    }
    return refuse_widths(*type);
  }

 private:
  bool inside(NodeId id) const { return set_[id.index]; }
  // What is written to other ranks, after all computation.
  bool ends(NodeId id) const {
    return std::ranges::count(gathers_, id) > 0 || std::ranges::count(sends_, id) > 0;
  }
  // What the reduce_scatter gives, whole again.
  bool gathers_outside(NodeId id) const {
    return scatter_.valid() && !inside(id) && op_as<AllGather>(graph_, id) &&
           dependents(graph_, set_of(graph_, {scatter_}))[id.index];
  }
  NodeId last() const {
    return !gathers_.empty() ? gathers_[0] : !sends_.empty() ? sends_[0] : NodeId{};
  }

  std::optional<Refusal> find_collectives() {
    for (NodeId id : list_of(set_)) {
      const Op& op = graph_.node(id).op;
      if (std::holds_alternative<AllReduce>(op)) {
        return Refusal{quoted(graph_, id) + " is a whole all_reduce; " +
                           (graph_.node(id).name.empty() ? unnamed_reduce_advice(graph_, id)
                                                         : "split it first"),
                       id};
      }
      if (std::holds_alternative<ReduceTo>(op) || std::holds_alternative<Broadcast>(op)) {
        return Refusal{quoted(graph_, id) + " is " + std::string(name_of(op)) +
                           "; the collectives that fuse are reduce_scatter and all_gather",
                       id};
      }
      if (std::holds_alternative<ReduceScatter>(op)) {
        if (scatter_.valid()) {
          return Refusal{"two reduce_scatters, " + quoted(graph_, scatter_) + " and " +
                             quoted(graph_, id) + "; a fused collective has one",
                         id};
        }
        scatter_ = id;
      }
      if (std::holds_alternative<AllGather>(op) && !is_gather_of_blocks(graph_, id)) {
        gathers_.push_back(id);
      }
      if (is_send(op)) sends_.push_back(id);
    }
    return refuse_axes();
  }

  std::optional<Refusal> refuse_axes() const {
    const NodeId first = scatter_.valid() ? scatter_ : gathers_.empty() ? NodeId{} : gathers_[0];
    for (NodeId id : gathers_) {
      if (axes_of(graph_.node(id).op) == axes_of(graph_.node(first).op)) continue;
      return Refusal{quoted(graph_, id) + " gathers over other mesh axes than " +
                         quoted(graph_, first) + "; a fused collective is over one set of axes",
                     id};
    }
    return std::nullopt;
  }

  NodeSet prologue_nodes() const {
    if (!scatter_.valid()) return none_of(graph_);
    const AxisList axes = axes_of(graph_.node(scatter_).op);
    NodeSet out = dependencies(graph_, set_of(graph_, {scatter_}));
    for (int i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node({i});
      const bool scalar = node.type.is_scalar() && !folds_own_buffer(node, axes);
      out[i] = out[i] && set_[i] && NodeId{i} != scatter_ && !scalar;
    }
    return out;
  }

  // What reads the value outside the group: a label, or "" if nothing does.
  std::string read_outside(NodeId id) const {
    for (const Output& output : graph_.outputs()) {
      if (output.node == id) return "the output `" + output.name + "`";
    }
    for (NodeId reader : readers_[id.index]) {
      if (!inside(reader)) return quoted(graph_, reader);
      if (!is_view(graph_.node(reader).op)) continue;
      if (std::string through = read_outside(reader); !through.empty()) return through;
    }
    return "";
  }

  std::optional<Refusal> refuse_prologue(NodeId id, const Space& space) const {
    const Node& node = graph_.node(id);
    const bool elementwise =
        std::holds_alternative<Pointwise>(node.op) || std::holds_alternative<Cast>(node.op) ||
        std::holds_alternative<Dropout>(node.op) || std::holds_alternative<AsPartial>(node.op);
    if (!elementwise) {
      return Refusal{quoted(graph_, id) + " is " + std::string(name_of(node.op)) +
                         "; what stands before the reduce_scatter in a fused collective runs on "
                         "each piece read from a peer, so it must be pointwise",
                     id};
    }
    const std::string reader = read_outside(id);
    if (!reader.empty()) {
      return Refusal{reader + " reads " + quoted(graph_, id) +
                         " outside the group, where it is never stored; leave " +
                         quoted(graph_, id) + " out",
                     id};
    }
    if (space.masks_otherwise(node)) return other_space(id, space);
    if (node.type.shape == space.type().shape || space.is_broadcast(node.type)) {
      return std::nullopt;
    }
    return other_space(id, space);
  }

  Refusal other_space(NodeId id, const Space& space) const {
    const std::string head =
        quoted(graph_, id) + " runs over " + Space(graph_, graph_.node(id).type).text();
    if (scatter_.valid()) {
      return {head + ", but " + quoted(graph_, scatter_) + " over " + space.text() +
                  "; a body is sliced as its reduce_scatter is",
              id};
    }
    if (last().valid()) {
      const bool gather = !gathers_.empty();
      return {head + ", but what " + quoted(graph_, last()) + (gather ? " gathers" : " sends") +
                  " over " + space.text() + "; a body is placed as the operand of its " +
                  (gather ? "gather is" : "send is"),
              id};
    }
    return {"two iteration spaces: " + head + ", the others over " + space.text() +
                "; fuse each by itself",
            id};
  }

  std::optional<Refusal> refuse_member(NodeId id, const Space& space) const {
    const Node& node = graph_.node(id);
    if (id == scatter_) return std::nullopt;
    if (std::holds_alternative<Update>(node.op)) return refuse_update(id, space);
    for (NodeId input : node.inputs) {
      if (gathers_outside(input)) {
        return Refusal{quoted(graph_, id) + " reads " + quoted(graph_, input) +
                           ", which is not in the group: a body reads what " +
                           quoted(graph_, scatter_) + " gives; reorder " + quoted(graph_, input) +
                           " past it first",
                       id};
      }
      if (!ends(input)) continue;
      return Refusal{
          "wrong order: " + quoted(graph_, id) + " reads " + quoted(graph_, input) +
              ", but gathers come last in a fused collective, and so do sends; reorder it first",
          id};
    }
    if (std::holds_alternative<AllGather>(node.op) || ends(id)) return refuse_end(id, space);
    if (auto refusal = refuse_operation(id, space)) return refusal;
    if (space.masks_otherwise(node)) return other_space(id, space);
    if (std::holds_alternative<BlockReduce>(node.op)) return std::nullopt;
    if (is_stored_over(space.type(), node.type) || space.is_of_members(node.type)) {
      return std::nullopt;
    }
    const std::string reader = read_outside(id);
    if (!space.is_broadcast(node.type)) return other_space(id, space);
    if (reader.empty()) return std::nullopt;
    return Refusal{reader + " reads " + quoted(graph_, id) +
                       " outside the group, whose kernel runs over " + space.text() +
                       " and stores elements and rows of that only; leave " + quoted(graph_, id) +
                       " out",
                   id};
  }

  std::optional<Refusal> refuse_end(NodeId id, const Space& space) const {
    const NodeId operand = graph_.node(id).inputs[0];
    if (!inside(operand)) {
      return Refusal{quoted(graph_, id) + (is_send(graph_.node(id).op) ? " sends " : " gathers ") +
                         quoted(graph_, operand) +
                         ", which is not in the group; add what computes it",
                     id};
    }
    if (is_gather_of_blocks(graph_, id)) return std::nullopt;
    if (space.is_same(graph_.node(operand).type)) return std::nullopt;
    return other_space(operand, space);
  }

  std::optional<Refusal> refuse_update(NodeId id, const Space& space) const {
    const NodeId value = graph_.node(id).inputs[1];
    if (!inside(value)) {
      return Refusal{quoted(graph_, id) + " stores " + quoted(graph_, value) +
                         ", which is not in the group; add it",
                     id};
    }
    // What a view shows is stored whole before it is copied.
    const NodeId base = base_of(graph_, value);
    const TensorType& whole = graph_.node(base).type;
    if (inside(base) && !ends(base) && !space.is_of_members(whole) &&
        !is_stored_over(space.type(), whole)) {
      return other_space(base, space);
    }
    const TensorType& type = graph_.node(value).type;
    if (ends(value) || space.is_same(type) || space.is_of_members(type)) return std::nullopt;
    return other_space(value, space);
  }

  std::optional<Refusal> refuse_operation(NodeId id, const Space& space) const {
    const Node& node = graph_.node(id);
    const std::string found = quoted(graph_, id) + " is a " + std::string(name_of(node.op));
    if (is_product(node.op)) {
      const std::string name = node.name.empty() ? "give it a name, and " : "";
      return Refusal{found + ", a launch of its own; " + name + "overlap it with the group", id};
    }
    if (is_movement(node.op)) {
      return Refusal{found + ", which moves data in a launch of its own; fuse what is before it",
                     id};
    }
    const Reduce* reduce = std::get_if<Reduce>(&node.op);
    if (std::holds_alternative<Norm>(node.op) || (reduce && reduce->dims.empty())) {
      return Refusal{quoted(graph_, id) +
                         " needs the whole tensor, so it cannot share a pass; "
                         "reorder it to slices (*) and fuse it with their collective",
                     id};
    }
    const bool blocks =
        std::holds_alternative<BlockReduce>(node.op) || std::holds_alternative<FoldBlocks>(node.op);
    if (blocks && !scatter_.valid() && !last().valid()) {
      return Refusal{quoted(graph_, id) +
                         " needs the blocks of every rank, which only a fused "
                         "collective has phases for: add its reduce_scatter or gather",
                     id};
    }
    if (std::holds_alternative<BlockReduce>(node.op) &&
        !space.is_same(graph_.node(node.inputs[0]).type)) {
      return other_space(node.inputs[0], space);
    }
    return refuse_rows(id, space);
  }

  std::optional<Refusal> refuse_rows(NodeId id, const Space& space) const {
    const Node& node = graph_.node(id);
    const Reduce* reduce = std::get_if<Reduce>(&node.op);
    if (!reduce && !works_on_rows(node.op)) return std::nullopt;
    const TensorType& operand = graph_.node(node.inputs[0]).type;
    if (!space.is_same(operand)) return other_space(node.inputs[0], space);
    if (!reduce || reduce->dims == std::vector<int>{operand.rank() - 1}) return std::nullopt;
    return Refusal{quoted(graph_, id) +
                       " reduces other dims than the last one alone; only reductions of rows, over "
                       "the last dim, fuse",
                   id};
  }

  // Block sums go over blocks of the flat index, which is not cut into rows as well.
  std::optional<Refusal> refuse_widths(const TensorType& space) const {
    const Phases phases = phases_of(graph_, list_of(set_));
    for (NodeId id : list_of(set_)) {
      if (!op_as<BlockReduce>(graph_, id)) continue;
      const NodeId rows = row_wise_in(graph_, set_, phases, phases.of(id), space);
      if (!rows.valid()) continue;
      return Refusal{quoted(graph_, id) +
                         " folds blocks of the flat index in the pass that takes " +
                         type_text(graph_, rows) +
                         ", row by row; a kernel runs over blocks or over rows: fuse what stands "
                         "before or after " +
                         quoted(graph_, id) + " by itself",
                     rows};
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const NodeSet& set_;
  const std::vector<std::vector<NodeId>> readers_;
  NodeId scatter_;
  std::vector<NodeId> gathers_, sends_;
};

// Updates of what the set computes that stand between two of its nodes belong to it.
NodeSet with_updates_between(const Graph& graph, NodeSet set) {
  for (bool added = true; added;) {
    added = false;
    for (NodeId id : open_path(graph, set)) {
      const bool update = op_as<Update>(graph, id) && set[graph.node(id).inputs[1].index];
      if (set[id.index] || !update || outermost_group(graph, id).valid()) continue;
      set[id.index] = added = true;
    }
  }
  return set;
}

// Updates that store what the group computes belong to it, where no reader of the old value has to
// run after the group.
NodeSet with_updates(const Graph& graph, NodeSet set) {
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (!std::holds_alternative<Update>(node.op) || set[i] || !set[node.inputs[1].index]) continue;
    if (node.type.is_scalar() || outermost_group(graph, {i}).valid()) continue;
    NodeSet larger = set;
    larger[i] = true;
    if (cycle_through(graph, larger).empty() && !Members(graph, larger).refuse()) set = larger;
  }
  return set;
}

}  // namespace

Verdict<FuseMatch> match_fuse(const Graph& graph, const Parts& parts) {
  if (auto refusal = refuse_parts(graph, parts)) return *refusal;
  if (auto refusal = refuse_order(graph, parts)) return *refusal;
  std::vector<NodeId> given;
  for (const std::vector<NodeId>& part : parts) given.insert(given.end(), part.begin(), part.end());
  if (given.empty()) return Refusal{"fuse needs at least one operation", {}};
  const NodeSet set = with_updates_between(graph, with_subexpressions(graph, given));
  if (auto refusal = Members(graph, set).refuse()) return *refusal;
  if (auto refusal = refuse_cycle(graph, set)) return *refusal;
  return FuseMatch{list_of(with_updates(graph, set))};
}

Rewrite fuse(const Graph& graph, const FuseMatch& match, std::string_view name) {
  Rebuild rebuild(graph);
  for (int i = 0; i < graph.size(); ++i) rebuild.copy({i});
  Group group;
  group.kind = GroupKind::fused;
  group.name = rebuild.fresh(name);
  group.nodes = match.nodes;
  group.where = graph.node(match.nodes.back()).where;
  return std::move(rebuild).finish({{{}, GroupId{0}, false}}, &group);
}

}  // namespace coconet
