#include "coconet/schedule/reorder.h"

#include <algorithm>

#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/region.h"
#include "coconet/schedule/spread.h"

namespace coconet {
namespace {

struct Blocked {
  Refusal refusal;
};

bool is_gather(const Graph& graph, NodeId id) {
  return op_as<AllGather>(graph, id) || op_as<Broadcast>(graph, id);
}

// Rebuilds the graph with the region on slices; throws Blocked where inference or a new collective
// stands against it.
class Mover {
 public:
  Mover(const Graph& graph, const ReorderMatch& match)
      : graph_(graph),
        match_(match),
        axes_(axes_of(graph.node(match.gathers[0]).op)),
        region_(with_subexpressions(graph, match.operations)),
        gathers_(set_of(graph, match.gathers)),
        readers_(readers_of(graph)),
        rebuild_(graph),
        moved_(graph.size()),
        changed_(none_of(graph)),
        new_gather_(graph.size()) {}

  Rewrite run() {
    for (int i = 0; i < graph_.size(); ++i) {
      if (gathers_[i]) {
        pass_gather({i});
      } else if (!region_[i]) {
        rebuild_.copy({i});
      } else {
        guard({i});
      }
    }
    if (moved_nothing()) {
      throw Blocked{{"nothing moves: " + quoted(graph_, match_.operations) +
                         " only stores what is gathered already; as_slice makes the store local",
                     match_.operations[0]}};
    }
    std::vector<Rewrite::Result> results(1);
    results[0].body = true;
    results[0].nodes = body_;
    for (NodeId id : match_.operations) {
      if (new_gather_[id.index].valid()) results.push_back({{new_gather_[id.index]}, {}, false});
    }
    Rewrite out = std::move(rebuild_).finish(std::move(results));
    out.exactness = exactness_;
    return out;
  }

 private:
  // Inside the region a gathered value is what is gathered; the gather itself stays for others.
  void pass_gather(NodeId id) {
    moved_[id.index] = rebuild_.at(graph_.node(id).inputs[0]);
    changed_[id.index] = true;
    if (needed_whole(id)) rebuild_.copy(id);
  }

  // Read outside the region, returned, or stored by an update inside it.
  bool needed_whole(NodeId id) const {
    const auto outside = [&](NodeId reader) {
      if (!region_[reader.index]) return true;
      return op_as<Update>(graph_, reader) && graph_.node(reader).inputs[1] == id &&
             !graph_.node(id).name.empty();
    };
    return is_output(graph_, id) || std::ranges::any_of(readers_[id.index], outside);
  }

  // Updates of the gathered value itself stay where they are.
  bool moved_nothing() const {
    return std::ranges::all_of(match_.operations, [this](NodeId id) {
      return op_as<Update>(graph_, id) && gathers_[graph_.node(id).inputs[1].index];
    });
  }

  void guard(NodeId id) {
    try {
      move(id);
    } catch (const UserError& error) {
      throw Blocked{{quoted(graph_, id) + " cannot run before " + quoted(graph_, match_.gathers) +
                         ": " + error.message(),
                     id}};
    }
  }

  void move(NodeId id) {
    const Node& node = graph_.node(id);
    if (std::holds_alternative<Update>(node.op)) return move_update(id);
    bool changed = false;
    const std::vector<NodeId> inputs = operands(id, &changed);
    if (!changed) return stay(id);
    const bool placed =
        std::holds_alternative<Shard>(node.op) || std::holds_alternative<RootOf>(node.op);
    if (placed && rebuild_.type(inputs[0]) == node.type) {
      rebuild_.replace(id, inputs[0]);
      note_moved(id, inputs[0]);
      return;
    }
    const int before = rebuild_.builder().size();
    const std::string name = node.name.empty() ? "" : node.name + "'";
    const NodeId now = rebuild_.add(node.op, inputs, name, node.where);
    refuse_new_collective(id, before, now);
    note_moved(id, now);
    if (!node.name.empty()) body_.push_back(now);
    // Whole, or sliced as it was before: its readers read it where it stands now.
    if (is_whole(rebuild_.type(now), axes_) || rebuild_.type(now) == node.type) {
      rebuild_.replace(id, now);
    } else if (needed_whole(id)) {
      gather_again(id, now);
    }
  }

  void note_moved(NodeId id, NodeId now) {
    moved_[id.index] = now;
    changed_[id.index] = true;
  }

  // A value of the region that reads nothing sliced: as it was.
  void stay(NodeId id) {
    moved_[id.index] = rebuild_.copy(id);
    if (!graph_.node(id).name.empty()) body_.push_back(moved_[id.index]);
  }

  // What is made of a node is called after it; of an unnamed update, after its storage.
  std::string base_name(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!node.name.empty()) return node.name;
    if (std::holds_alternative<Update>(node.op)) return graph_.node(node.inputs[0]).name;
    return "t_" + std::string(name_of(node.op));
  }

  void gather_again(NodeId id, NodeId now) {
    const Node& node = graph_.node(id);
    new_gather_[id.index] = add_whole(rebuild_, now, axes_, base_name(id), node.where);
    rebuild_.replace(id, new_gather_[id.index]);
  }

  void move_update(NodeId id) {
    const Node& node = graph_.node(id);
    const NodeId value = node.inputs[1];
    if (!changed_[value.index]) {
      rebuild_.copy(id);  // stores what is whole already; its readers see a value from outside
      return;
    }
    GraphBuilder& builder = rebuild_.builder();
    const NodeId now = moved_[value.index];
    const NodeId storage = rebuild_.at(node.inputs[0]);
    if (builder.node(now).name.empty()) {
      builder.set_name(now, rebuild_.fresh(base_name(id) + "'"));
      body_.push_back(now);
    }
    NodeId stored = now;
    if (!(rebuild_.type(storage).layout == rebuild_.type(now).layout)) {
      if (graph_.node(value).name.empty()) {
        stored = new_gather_[id.index] = add_whole(rebuild_, now, axes_, base_name(id), node.where);
      } else {
        stored = rebuild_.at(value);
      }
    }
    const NodeId updated = builder.add(node.op, {storage, stored}, node.name, node.where);
    if (stored == now) body_.push_back(updated);
    rebuild_.replace(id, updated);
    note_moved(id, now);
  }

  // What the node reads before the gathers.
  std::vector<NodeId> operands(NodeId id, bool* changed) {
    const Node& node = graph_.node(id);
    const bool product = is_product(node.op);
    std::vector<NodeId> inputs;
    std::optional<TensorType> like;
    for (NodeId input : node.inputs) {
      const NodeId inside = moved_[input.index];
      inputs.push_back(inside.valid() ? inside : rebuild_.at(input));
      *changed = *changed || changed_[input.index];
      const TensorType& type = rebuild_.type(inputs.back());
      if (!like && is_spread(type, axes_)) like = type;
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const NodeId input = node.inputs[k];
      if (moved_[input.index].valid() || (product && (like || k > 0))) continue;
      const NodeId again = first_use(node.inputs, k);
      if (again.valid()) {
        inputs[k] = inputs[again.index];
        continue;
      }
      const TensorType type = rebuild_.type(inputs[k]);
      const std::optional<TensorType> to = like ? like : gathered_like(type);
      if (!to || !is_whole(type, axes_)) continue;
      const auto ops = spread_ops(type, *to, axes_);
      if (!ops) continue;
      inputs[k] = add_spread(rebuild_.builder(), inputs[k], *ops, node.where);
      *changed = true;
    }
    return inputs;
  }

  // The position before k at which the same operand stands, as an id; invalid if none.
  static NodeId first_use(const std::vector<NodeId>& inputs, std::size_t k) {
    const auto at = std::find(inputs.begin(), inputs.begin() + k, inputs[k]);
    return at == inputs.begin() + k ? NodeId{} : NodeId{static_cast<int>(at - inputs.begin())};
  }

  std::optional<TensorType> gathered_like(const TensorType& type) const {
    for (NodeId gather : match_.gathers) {
      if (graph_.node(gather).type.shape == type.shape) {
        return graph_.node(graph_.node(gather).inputs[0]).type;
      }
    }
    return std::nullopt;
  }

  void refuse_new_collective(NodeId id, int before, NodeId now) {
    const GraphBuilder& builder = rebuild_.builder();
    const Op& op = graph_.node(id).op;
    for (int i = before; i < builder.size(); ++i) {
      const Node& added = builder.node({i});
      if (!is_communication(added.op) || (NodeId{i} == now && is_communication(op))) continue;
      const bool norm = std::holds_alternative<Norm>(op);
      const bool of_blocks = std::holds_alternative<AllGather>(added.op) &&
                             std::holds_alternative<BlockReduce>(builder.node(added.inputs[0]).op);
      const Reduce* reduce = std::get_if<Reduce>(&op);
      const bool tensor_wide = norm || (reduce && reduce->dims.empty());
      if (norm && !of_blocks) exactness_ = Exactness::reassociates;
      if (norm || (tensor_wide && of_blocks)) continue;
      block(id, "would need a new " + std::string(name_of(added.op)));
    }
    const TensorType& type = rebuild_.type(now);
    for (int axis : axes_) {
      if (type.layout.is<Partial>(axis)) {
        block(id, "would be " + type.text(graph_.mesh()) + " and need a new all_reduce");
      }
    }
  }

  [[noreturn]] void block(NodeId id, const std::string& why) const {
    throw Blocked{{quoted(graph_, id) + ", run on " + slices_text() + ", " + why, id}};
  }

  std::string slices_text() const {
    const NodeId operand = graph_.node(match_.gathers[0]).inputs[0];
    return "what is " + graph_.node(operand).type.text(graph_.mesh());
  }

  const Graph& graph_;
  const ReorderMatch& match_;
  const AxisList axes_;
  const NodeSet region_;
  const NodeSet gathers_;
  const std::vector<std::vector<NodeId>> readers_;
  Rebuild rebuild_;
  std::vector<NodeId> moved_;  // by old node: its value in the region
  NodeSet changed_;            // by old node: moved_ is not what it was
  std::vector<NodeId> new_gather_;
  std::vector<NodeId> body_;
  Exactness exactness_ = Exactness::exact;
};

std::optional<Refusal> refuse_gathers(const Graph& graph, const std::vector<NodeId>& gathers) {
  for (NodeId id : gathers) {
    if (!is_gather(graph, id)) {
      std::string reason = "reorder moves operations before an all_gather or broadcast; " +
                           quoted(graph, id) + " is " + std::string(name_of(graph.node(id).op));
      if (op_as<AllReduce>(graph, id)) reason += ": split it first";
      return Refusal{reason, id};
    }
    const Broadcast* broadcast = op_as<Broadcast>(graph, id);
    if (broadcast && broadcast->root) {
      return Refusal{quoted(graph, id) + " broadcasts a local value, which has no rooted form", id};
    }
    if (axes_of(graph.node(id).op) != axes_of(graph.node(gathers[0]).op)) {
      return Refusal{quoted(graph, id) + " and " + quoted(graph, gathers[0]) +
                         " gather over different mesh axes; reorder them one after the other",
                     id};
    }
  }
  return refuse_grouped(graph, gathers);
}

std::optional<Refusal> refuse_operations(const Graph& graph, const std::vector<NodeId>& gathers,
                                         const std::vector<NodeId>& operations) {
  for (NodeId id : operations) {
    if (op_as<Input>(graph, id)) {
      return Refusal{quoted(graph, id) + " is an input; there is no operation to move", id};
    }
    if (std::ranges::count(gathers, id)) {
      return Refusal{quoted(graph, id) + " is the gather itself", id};
    }
    if (std::ranges::count(operations, id) > 1) {
      return Refusal{quoted(graph, id) + " is listed twice", id};
    }
  }
  return refuse_grouped(graph, operations);
}

// The named values on the way from `from` to `to`, without them.
std::vector<NodeId> between(const Graph& graph, NodeId from, const NodeSet& to) {
  const NodeSet after = dependents(graph, set_of(graph, {from}));
  const NodeSet before = dependencies(graph, to);
  std::vector<NodeId> out;
  for (NodeId id : named_nodes(graph, after)) {
    if (id != from && before[id.index] && !to[id.index]) out.push_back(id);
  }
  return out;
}

std::optional<Refusal> refuse_open(const Graph& graph, const std::vector<NodeId>& gathers,
                                   const std::vector<NodeId>& operations) {
  NodeSet region = with_subexpressions(graph, operations);
  const auto readers = readers_of(graph);
  for (NodeId gather : gathers) {
    const auto inside = [&](NodeId reader) { return region[reader.index]; };
    if (std::ranges::any_of(readers[gather.index], inside)) continue;
    const std::vector<NodeId> way = between(graph, gather, region);
    std::string reason = "none of the operations reads " + quoted(graph, gather);
    if (!way.empty()) reason += "; list what stands between as well: " + quoted(graph, way);
    return Refusal{reason, way.empty() ? gather : way[0]};
  }
  for (NodeId gather : gathers) region[gather.index] = true;
  const std::vector<NodeId> path = open_path(graph, region);
  if (path.empty()) return std::nullopt;
  const std::vector<NodeId> missing(path.begin() + 1, path.end() - 1);
  return Refusal{"the region is open: the path " + path_text(graph, path) + " leaves it; list " +
                     quoted(graph, named_value(graph, missing[0])) + " as well",
                 missing[0]};
}

// What of the list stands before the blocked operation, for the message.
std::string legal_instead(const Graph& graph, const ReorderMatch& match, NodeId blocked) {
  const NodeId named = named_value(graph, blocked);
  const NodeSet after = dependents(graph, set_of(graph, {named}));
  std::vector<NodeId> rest;
  for (NodeId id : match.operations) {
    if (!after[id.index]) rest.push_back(id);
  }
  if (rest.empty()) return "; it has to stay behind the gather";
  return "; what does not depend on it may move: " + quoted(graph, rest);
}

}  // namespace

Verdict<ReorderMatch> match_reorder(const Graph& graph, const std::vector<NodeId>& gathers,
                                    const std::vector<NodeId>& operations) {
  if (gathers.empty() || operations.empty()) {
    return Refusal{"reorder needs a gather and the operations to move before it", {}};
  }
  if (auto refusal = refuse_gathers(graph, gathers)) return *refusal;
  if (auto refusal = refuse_operations(graph, gathers, operations)) return *refusal;
  if (auto refusal = refuse_open(graph, gathers, operations)) return *refusal;
  ReorderMatch match{gathers, operations};
  try {
    Mover(graph, match).run();
  } catch (const Blocked& blocked) {
    Refusal refusal = blocked.refusal;
    refusal.reason += legal_instead(graph, match, refusal.blocked_by);
    return refusal;
  } catch (const UserError& error) {
    return Refusal{error.message(), operations.back()};
  }
  return match;
}

Rewrite reorder(const Graph& graph, const ReorderMatch& match) { return Mover(graph, match).run(); }

}  // namespace coconet
