#include "coconet/schedule/candidates.h"

#include <algorithm>
#include <map>
#include <set>

#include "coconet/graph/literal.h"
#include "coconet/schedule/fuse.h"
#include "coconet/schedule/overlap_chains.h"
#include "coconet/schedule/region.h"
#include "coconet/schedule/reorder.h"

namespace coconet {
namespace {

using Names = std::vector<std::string>;

class Candidates {
 public:
  explicit Candidates(const Applied& applied)
      : applied_(applied), graph_(applied.graph), readers_(readers_of(applied.graph)) {
    for (int i = 0; i < graph_.size(); ++i) {
      if (!graph_.node({i}).name.empty()) named_.push_back({i});
    }
  }

  std::vector<LegalStep> legal(const std::set<StepKind>& kinds) {
    const auto wanted = [&](StepKind kind) { return kinds.empty() || kinds.contains(kind); };
    const auto of_each = [&](StepKind kind, void (Candidates::*add)(NodeId)) {
      for (NodeId id : named_) {
        if (wanted(kind)) (this->*add)(id);
      }
    };
    of_each(StepKind::split, &Candidates::add_splits);
    of_each(StepKind::distribute, &Candidates::add_distributes);
    of_each(StepKind::reorder, &Candidates::add_reorders);
    const bool most = kinds.contains(StepKind::reorder_most);  // reorder has them
    if (most) of_each(StepKind::reorder_most, &Candidates::add_largest_reorder);
    if (most || wanted(StepKind::reorder)) add_joint_reorders();
    of_each(StepKind::storage, &Candidates::add_state_steps);
    // Before pairs: a body's own name is preferred.
    if (wanted(StepKind::fuse_communication)) add_collective_fuses();
    if (wanted(StepKind::fuse_pair)) add_pair_fuses();
    if (wanted(StepKind::fuse_computation)) add_computation_fuses();
    if (wanted(StepKind::fuse_one)) add_single_fuses();
    if (wanted(StepKind::overlap)) add_overlaps();
    return std::move(steps_);
  }

 private:
  const std::string& name(NodeId id) const { return graph_.node(id).name; }

  void add_if_legal(std::string_view verb, std::vector<StepArgument> arguments,
                    const Names& results) {
    Step step{std::string(verb), std::move(arguments), {}, {}};
    try {
      const Exactness exactness = exactness_of(applied_, step);
      step.results = results;
      add(std::move(step), exactness);
    } catch (const UserError&) {
      // Not legal here.
    }
  }

  // `step.results` are the names wanted; each gets one that is free.
  void add(Step step, Exactness exactness) {
    const Names wanted = std::move(step.results);
    step.results.clear();
    for (const std::string& result : wanted) {
      step.results.push_back(result_name(applied_, result, step.results));
    }
    if (std::ranges::count(steps_, step, &LegalStep::step) > 0) return;
    if (step.verb == "fuse" && !fused_.insert(fused_by(step)).second) return;
    steps_.push_back({std::move(step), exactness});
  }

  // What a fuse takes, whatever its parts are called.
  std::vector<NodeId> fused_by(const Step& step) const {
    std::vector<std::vector<NodeId>> parts;
    for (const StepArgument& argument : step.arguments) {
      const std::string& part = std::get<std::string>(argument);
      const auto handle = applied_.handles.find(part);
      const bool node = handle == applied_.handles.end();
      parts.push_back(node ? std::vector<NodeId>{graph_.find(part)} : handle->second.nodes);
      if (parts.back().empty()) parts.pop_back();
    }
    return std::get<FuseMatch>(match_fuse(graph_, parts)).nodes;
  }

  // None, then every range of dims, then the whole as one index.
  std::vector<std::vector<StepArgument>> slice_arguments(NodeId id) const {
    std::vector<std::vector<StepArgument>> out{{}};
    const int rank = graph_.node(id).type.rank();
    for (int first = 0; first < rank; ++first) {
      for (int last = first; last < rank; ++last) out.push_back({Slice::range(first, last)});
    }
    out.push_back({Slice::all()});
    return out;
  }

  void add_with(std::string_view verb, NodeId id, std::vector<StepArgument> slice,
                const Names& words, const Names& results) {
    slice.insert(slice.begin(), name(id));
    slice.insert(slice.end(), words.begin(), words.end());
    add_if_legal(verb, std::move(slice), results);
  }

  void add_splits(NodeId id) {
    if (!op_as<AllReduce>(graph_, id)) return;
    for (const auto& slice : slice_arguments(id)) add_with("split", id, slice, {}, {"rs", "ag"});
    add_with("split", id, {}, {"reduce_broadcast"}, {"reduced", "whole"});
    if (axes_of(graph_.node(id).op).size() != 2) return;
    for (const auto& slice : slice_arguments(id)) {
      add_with("split", id, slice, {"hierarchical"}, {"rs", "ar", "ag"});
    }
  }

  void add_distributes(NodeId id) {
    if (readers_[id.index].empty()) return;
    std::vector<Names> axes;
    Names all;
    for (int axis = 0; axis < graph_.mesh().size(); ++axis) {
      if (!graph_.node(id).type.layout.is<Replicated>(axis)) continue;
      axes.push_back({graph_.mesh().axes[axis]});
      all.push_back(graph_.mesh().axes[axis]);
    }
    if (axes.size() > 1) axes.push_back(all);
    for (const Names& some : axes) {
      for (const auto& slice : slice_arguments(id)) {
        add_with("distribute", id, slice, some, {"piece", "whole"});
      }
    }
  }

  bool is_gather(NodeId id) const {
    return op_as<AllGather>(graph_, id) || op_as<Broadcast>(graph_, id);
  }

  void add_reorders(NodeId gather) {
    if (!is_gather(gather)) return;
    const NodeSet after = dependents(graph_, set_of(graph_, {gather}));
    for (NodeId last : named_) {
      if (!after[last.index] || last == gather) continue;
      const NodeSet before = dependencies(graph_, set_of(graph_, {last}));
      std::vector<NodeId> between;
      for (NodeId id : named_) {
        if (after[id.index] && before[id.index] && id != gather) between.push_back(id);
      }
      add_reorder({gather}, between);
    }
    add_largest_reorder(gather);
  }

  void add_largest_reorder(NodeId gather) {
    if (is_gather(gather)) add_reorder({gather}, largest_region({gather}));
  }

  // Of the gathers over the same axes together.
  void add_joint_reorders() {
    std::map<AxisList, std::vector<NodeId>> gathers;
    for (NodeId id : named_) {
      if (is_gather(id)) gathers[axes_of(graph_.node(id).op)].push_back(id);
    }
    for (const auto& [axes, together] : gathers) {
      if (together.size() > 1) add_reorder(together, largest_region(together));
    }
  }

  void add_reorder(const std::vector<NodeId>& gathers, const std::vector<NodeId>& operations) {
    const auto verdict = match_reorder(graph_, gathers, operations);
    const ReorderMatch* match = std::get_if<ReorderMatch>(&verdict);
    if (!match) return;
    const Rewrite rewrite = reorder(graph_, *match);
    const auto names = [this](const std::vector<NodeId>& ids) {
      Names out;
      for (NodeId id : ids) out.push_back(name(id));
      return out;
    };
    StepArgument before = name(gathers[0]);
    if (gathers.size() > 1) before = names(gathers);
    Names results(rewrite.results.size(), "gather");
    results[0] = "body";
    add({"reorder", {before, names(operations)}, std::move(results), {}}, rewrite.exactness);
  }

  // Everything that depends on the gathers and can move, and what is only computed for it. With
  // several, from what reads them all.
  std::vector<NodeId> largest_region(const std::vector<NodeId>& gathers) const {
    std::vector<NodeId> region;
    const auto try_adding = [&](NodeId id) {
      std::vector<NodeId> larger = region;
      larger.push_back(id);
      std::ranges::sort(larger);
      const auto verdict = match_reorder(graph_, gathers, larger);
      if (std::holds_alternative<ReorderMatch>(verdict)) region = larger;
    };
    const NodeSet after = dependents(graph_, set_of(graph_, gathers));
    for (NodeId id : named_) {
      if (after[id.index] && std::ranges::count(gathers, id) == 0) try_adding(id);
    }
    const Shape& shape = graph_.node(gathers[0]).type.shape;
    for (NodeId id : named_) {
      if (region.empty() || after[id.index] || op_as<Input>(graph_, id)) continue;
      const NodeSet moved = with_subexpressions(graph_, region);
      const auto inside = [&](NodeId reader) { return moved[reader.index]; };
      const auto alike = [&](NodeId input) { return graph_.node(input).type.shape == shape; };
      const Op& op = graph_.node(id).op;
      const bool computed = !is_communication(op) && !std::holds_alternative<Update>(op);
      if (computed && !readers_[id.index].empty() &&
          std::ranges::all_of(readers_[id.index], inside) && !is_output(graph_, id) &&
          std::ranges::any_of(graph_.node(id).inputs, alike)) {
        try_adding(id);
      }
    }
    return region;
  }

  void add_state_steps(NodeId id) {
    const Input* input = op_as<Input>(graph_, id);
    if (input && input->kind == InputKind::state) {
      add_if_legal("as_slice", {name(id)}, {});
      add_if_legal("as_rooted", {name(id)}, {});
    }
    if (is_gather(id)) add_if_legal("dead", {name(id)}, {});
  }

  void add_collective_fuses() {
    std::vector<NodeId> scatters, gathers;
    for (NodeId id : named_) {
      if (op_as<ReduceScatter>(graph_, id)) scatters.push_back(id);
      if (op_as<AllGather>(graph_, id)) gathers.push_back(id);
    }
    for (NodeId scatter : scatters) {
      const bool prologue = list_of(with_subexpressions(graph_, {scatter})).size() > 1;
      if (prologue) add_if_legal("fuse", {name(scatter)}, {"fused_rs"});
    }
    const auto sends = [this](NodeId id) { return is_send(graph_.node(id).op); };
    for (const auto& [body, handle] : applied_.handles) {
      if (!handle.body || !handle.gone.empty()) continue;
      if (std::ranges::any_of(handle.nodes, sends)) add_fuse({}, body, {}, "send");
      std::vector<StepArgument> ends;
      for (NodeId gather : gathers) {
        if (std::ranges::count(handle.nodes, graph_.node(gather).inputs[0])) {
          ends.push_back(name(gather));
        }
      }
      add_fuse({}, body, {}, "kernel");
      if (!ends.empty()) add_fuse({}, body, ends, "body_ag");
      for (NodeId scatter : scatters) {
        add_fuse({name(scatter)}, body, {}, "rs_body");
        if (!ends.empty()) add_fuse({name(scatter)}, body, ends, "ar");
      }
    }
  }

  void add_fuse(std::vector<StepArgument> arguments, const std::string& body,
                const std::vector<StepArgument>& ends, const std::string& result) {
    arguments.push_back(body);
    arguments.insert(arguments.end(), ends.begin(), ends.end());
    add_if_legal("fuse", std::move(arguments), {result});
  }

  void add_pair_fuses() {
    for (NodeId id : named_) {
      for (NodeId reader : readers_[id.index]) {
        const NodeId next = named_value(graph_, reader);
        if (std::holds_alternative<FuseMatch>(match_fuse(graph_, {{id}, {next}}))) {
          const bool sends = is_send(graph_.node(next).op);
          add_if_legal("fuse", {name(id), name(next)}, {sends ? "send" : "pair"});
        }
      }
    }
  }

  // From each computation on, as many as fit one kernel.
  void add_computation_fuses() {
    std::vector<std::vector<NodeId>> parts;
    const auto finish = [&] {
      std::vector<StepArgument> arguments;
      for (const std::vector<NodeId>& part : parts) arguments.push_back(name(part[0]));
      if (parts.size() > 1) add_if_legal("fuse", std::move(arguments), {"kernel"});
      parts.clear();
    };
    for (NodeId id : named_) {
      if (is_communication(graph_.node(id).op) || op_as<Input>(graph_, id)) continue;
      parts.push_back({id});
      if (std::holds_alternative<FuseMatch>(match_fuse(graph_, parts))) continue;
      parts.pop_back();
      finish();
      parts.push_back({id});
      if (std::holds_alternative<Refusal>(match_fuse(graph_, parts))) parts.clear();
    }
    finish();
  }

  // Of one operation with the unnamed ones in it, where no fuse takes it with another.
  void add_single_fuses() {
    for (NodeId id : named_) {
      const auto takes = [id](const auto& set) { return std::ranges::count(set, id) > 0; };
      if (std::ranges::any_of(fused_, takes)) continue;
      const auto verdict = match_fuse(graph_, {{id}});
      const auto* match = std::get_if<FuseMatch>(&verdict);
      const auto runs = [this](NodeId node) { return !is_literal(graph_, node); };
      if (!match || std::ranges::count_if(match->nodes, runs) < 2) continue;
      fused_.insert(match->nodes);
      const std::string result = result_name(applied_, "kernel", {});
      steps_.push_back({{"fuse", {name(id)}, {result}, {}}, Exactness::exact});
    }
  }

  void add_overlaps() {
    for (const Names& chain : overlap_chains(graph_)) {
      add_if_legal("overlap", {chain.begin(), chain.end()}, {"pipeline"});
    }
  }

  const Applied& applied_;
  const Graph& graph_;
  const std::vector<std::vector<NodeId>> readers_;
  std::vector<NodeId> named_;
  std::vector<LegalStep> steps_;
  std::set<std::vector<NodeId>> fused_;  // what the fuses among them take
};

}  // namespace

std::vector<LegalStep> legal_steps(const Applied& applied, const std::set<StepKind>& kinds) {
  return Candidates(applied).legal(kinds);
}

}  // namespace coconet
