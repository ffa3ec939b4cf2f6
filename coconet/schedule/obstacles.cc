#include "coconet/schedule/obstacles.h"

#include <algorithm>

#include "coconet/schedule/fuse.h"
#include "coconet/schedule/region.h"
#include "coconet/schedule/reorder.h"

namespace coconet {
namespace {

class Obstacles {
 public:
  Obstacles(const Applied& applied, const std::vector<LegalStep>& legal)
      : applied_(applied), graph_(applied.graph), readers_(readers_of(applied.graph)) {
    fused_ = taken_by("fuse", legal);
    moved_ = taken_by("reorder", legal);
    distributed_ = taken_by("distribute", legal);
  }

  std::vector<std::string> lines() {
    for (int i = 0; i < graph_.size(); ++i) {
      const NodeId id{i};
      if (graph_.node(id).name.empty() || op_as<Input>(graph_, id)) continue;
      const GroupId group = outermost_group(graph_, id);
      if (group.valid()) {
        add(id,
            "cannot be fused or moved: in the group `" + graph_.group(group).name + "` already");
        continue;
      }
      if (!fused_[i]) add(id, "cannot be fused" + why_not_fused(id));
      if (!moved_[i]) add(id, "cannot be moved: " + why_not_moved(id));
    }
    std::vector<std::string> out;
    for (const Line& line : lines_)
      out.push_back(quoted(graph_, line.operations) + " " + line.text);
    return out;
  }

 private:
  struct Line {
    std::vector<NodeId> operations;
    std::string text;
  };

  void add(NodeId id, const std::string& text) {
    const auto same = std::ranges::find(lines_, text, &Line::text);
    if (same == lines_.end()) {
      lines_.push_back({{id}, text});
    } else {
      same->operations.push_back(id);
    }
  }

  // The named operations that steps of the verb take, by themselves or in a body. What stands
  // before the list of a reorder stays.
  NodeSet taken_by(const std::string& verb, const std::vector<LegalStep>& legal) const {
    NodeSet out = none_of(graph_);
    const auto take = [&](const std::string& name) {
      const auto handle = applied_.handles.find(name);
      const NodeId node = graph_.find(name);
      if (handle == applied_.handles.end() && node.valid()) out[node.index] = true;
      if (handle == applied_.handles.end()) return;
      for (NodeId id : handle->second.nodes) out[id.index] = true;
    };
    for (const auto& [step, exactness] : legal) {
      if (step.verb != verb) continue;
      for (std::size_t k = verb == "reorder" ? 1 : 0; k < step.arguments.size(); ++k) {
        if (const auto* name = std::get_if<std::string>(&step.arguments[k])) take(*name);
        const auto* names = std::get_if<std::vector<std::string>>(&step.arguments[k]);
        for (const std::string& one : names ? *names : std::vector<std::string>{}) take(one);
      }
    }
    return out;
  }

  // Every different reason, "with `a`: ...; with `b`: ...".
  class Reasons {
   public:
    void add(const std::string& head, const std::string& reason) {
      if (std::ranges::count(seen_, reason) > 0) return;
      seen_.push_back(reason);
      text_ += (text_.empty() ? "" : "; ") + head + reason;
    }
    const std::string& text() const { return text_; }

   private:
    std::vector<std::string> seen_;
    std::string text_;
  };

  std::string why_not_fused(NodeId id) const {
    const auto alone = match_fuse(graph_, {{id}});
    const Op& op = graph_.node(id).op;
    const bool needs_another =
        op_as<AllGather>(graph_, id) || op_as<Update>(graph_, id) || is_send(op);
    const auto* refused = std::get_if<Refusal>(&alone);
    if (refused && !needs_another) return ": " + refused->reason;
    Reasons reasons;
    const auto try_with = [&](NodeId other, const std::vector<std::vector<NodeId>>& parts) {
      const auto verdict = match_fuse(graph_, parts);
      const auto* refusal = std::get_if<Refusal>(&verdict);
      if (refusal) reasons.add("with " + quoted(graph_, other) + ": ", refusal->reason);
    };
    for (NodeId before : named_operands(id)) try_with(before, {{before}, {id}});
    for (NodeId after : named_readers(id)) try_with(after, {{id}, {after}});
    const std::string head = refused ? ": " : " with another: ";
    if (!reasons.text().empty()) return head + reasons.text();
    if (refused) return head + refused->reason;
    return head + "it reads inputs only, and no operation reads it; alone it is one kernel already";
  }

  // The named operations that it or an unnamed sub-expression of it reads.
  std::vector<NodeId> named_operands(NodeId id) const {
    std::vector<NodeId> out;
    for (NodeId part : list_of(with_subexpressions(graph_, {id}))) {
      for (NodeId input : graph_.node(part).inputs) {
        const bool operation = !graph_.node(input).name.empty() && !op_as<Input>(graph_, input);
        if (operation && std::ranges::count(out, input) == 0) out.push_back(input);
      }
    }
    return out;
  }

  std::vector<NodeId> named_readers(NodeId id) const {
    std::vector<NodeId> out;
    for (NodeId reader : readers_[id.index]) {
      const NodeId named = named_value(graph_, reader);
      if (std::ranges::count(out, named) == 0) out.push_back(named);
    }
    return out;
  }

  std::string why_not_moved(NodeId id) const {
    const NodeSet before = dependencies(graph_, set_of(graph_, {id}));
    Reasons reasons;
    std::vector<NodeId> to_split;
    for (NodeId other : named_nodes(graph_, before)) {
      if (other == id) continue;
      if (op_as<AllReduce>(graph_, other)) to_split.push_back(other);
      if (!op_as<AllGather>(graph_, other) && !op_as<Broadcast>(graph_, other)) continue;
      const auto verdict = match_reorder(graph_, {other}, way(other, id, before));
      const auto* refusal = std::get_if<Refusal>(&verdict);
      if (refusal) reasons.add("before " + quoted(graph_, other) + ": ", refusal->reason);
    }
    if (!reasons.text().empty()) return reasons.text();
    const std::string none = "no all_gather or broadcast stands before it";
    if (!to_split.empty()) return none + "; split " + quoted(graph_, to_split) + " for one";
    std::vector<NodeId> to_distribute;
    for (NodeId other : named_nodes(graph_, before)) {
      if (other != id && distributed_[other.index]) to_distribute.push_back(other);
    }
    if (to_distribute.empty()) return none + ", and nothing it reads can be split or distributed";
    return none + "; distribute " + quoted(graph_, to_distribute) + " for one";
  }

  // The named operations on the way from the gather to `id`, with it.
  std::vector<NodeId> way(NodeId gather, NodeId id, const NodeSet& before) const {
    std::vector<NodeId> out;
    for (NodeId other : named_nodes(graph_, dependents(graph_, set_of(graph_, {gather})))) {
      if (other != gather && (before[other.index] || other == id)) out.push_back(other);
    }
    return out;
  }

  const Applied& applied_;
  const Graph& graph_;
  const std::vector<std::vector<NodeId>> readers_;
  NodeSet fused_, moved_, distributed_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<std::string> obstacles(const Applied& applied, const std::vector<LegalStep>& legal) {
  return Obstacles(applied, legal).lines();
}

}  // namespace coconet
