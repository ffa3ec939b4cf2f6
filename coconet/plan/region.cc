#include "coconet/plan/region.h"

#include <algorithm>

#include "coconet/plan/kernel_builder.h"
#include "coconet/schedule/space.h"

namespace coconet::plan {
namespace {

// A layout that cuts the tensor among `axes` for a direct all_reduce, by `rows` if they are given;
// the type itself (every rank folds all of it) where a cut cannot be had.
TensorType direct_space(const TensorType& type, const AxisList& axes,
                        const std::optional<Slice>& rows) {
  if (type.shape.empty() || !type.layout.axes_that_are<Sliced>().empty()) return type;
  const bool by_rows = rows && rows->last < type.rank();
  TensorType out = type;
  for (int axis : axes) {
    out.layout = out.layout.with(axis, Sliced{by_rows ? *rows : Slice::all()});
  }
  return out;
}

class RegionLowering {
 public:
  RegionLowering(Plan& plan, Storage& storage, const Member& member, const LoweringOptions& options)
      : plan_(plan),
        graph_(plan.graph),
        storage_(storage),
        member_(member),
        phases_(phases_of(graph_, member.nodes)),
        options_(options) {}

  void lower() {
    const bool nothing = std::all_of(member_.nodes.begin(), member_.nodes.end(),
                                     [&](NodeId id) { return is_view(graph_.node(id).op); });
    if (nothing) return;
    space_ = space_of_member();
    const TensorType* members =
        space_.is_list() && !space_.is_scalar_list() ? by_member() : nullptr;
    has_members_ = members != nullptr;
    for (int phase = 0; phase < phases_.count; ++phase) {
      const std::string suffix =
          phases_.count > 1 ? " phase " + std::to_string(phase + 1) : std::string();
      if (members) lower_phase(phase, *members, suffix + " by member");
      lower_phase(phase, space_, suffix);
    }
  }

 private:
  void lower_phase(int phase, const TensorType& space, const std::string& suffix) {
    KernelBuilder builder(plan_, storage_, phases_, phase, space);
    for (NodeId id : member_.nodes) add_stores(builder, id, phase);
    if (!builder.empty()) append(builder.finish(), name() + suffix);
  }

  // What has one value a member of a list gets a kernel over the members, before that over the
  // list, which loads it: its type, if the member has such.
  const TensorType* by_member() const {
    for (NodeId id : member_.nodes) {
      const Node& node = graph_.node(id);
      if (node.type.is_scalar_list() && !is_view(node.op)) return &node.type;
    }
    return nullptr;
  }

  std::string name() const {
    if (member_.fused.valid()) return graph_.group(member_.fused).name;
    return graph_.label(member_.nodes.front());
  }

  void append(Kernel kernel, std::string name) {
    Launch launch;
    launch.name = std::move(name);
    launch.origins = member_.nodes;
    launch.where = graph_.node(member_.nodes.back()).where;
    launch.work = std::move(kernel);
    plan_.launches.push_back(std::move(launch));
  }

  // What the kernels of the member iterate over.
  TensorType space_of_member() const {
    if (member_.fused.valid()) {
      const std::optional<TensorType> space = space_of_fused(graph_, set_of(graph_, member_.nodes));
      check(space.has_value(), "a fused group has a space");
      return *space;
    }
    const Node& node = graph_.node(member_.nodes.front());
    if (const auto* reduce = std::get_if<AllReduce>(&node.op)) {
      return direct_space(node.type, reduce->axes, options_.rows);
    }
    if (const auto* send = std::get_if<Broadcast>(&node.op)) {
      TensorType type = graph_.node(node.inputs[0]).type;
      for (int axis : send->axes) {
        if (send->root) type.layout = type.layout.with(axis, Rooted{*send->root});
      }
      return type;
    }
    const bool of_operand = is_send(node.op) || std::holds_alternative<AllGather>(node.op) ||
                            std::holds_alternative<BlockReduce>(node.op) ||
                            std::holds_alternative<Reduce>(node.op) || is_tensor_wide(node.op);
    return of_operand ? graph_.node(node.inputs[0]).type : node.type;
  }

  bool read_outside(NodeId id) const {
    for (NodeId reader : storage_.readers(id)) {
      if (is_view(graph_.node(reader).op)) {
        if (read_outside(reader)) return true;
      } else if (!phases_.has(reader)) {
        return true;
      }
    }
    return storage_.is_output(id);
  }

  bool read_in_later_phase(NodeId id) const {
    const TensorType& type = graph_.node(id).type;
    if (type.is_scalar()) return false;  // computed again
    if (!type.is_scalar_list() && !is_stored_over(space_, type)) return false;
    for (NodeId reader : storage_.readers(id)) {
      if (is_view(graph_.node(reader).op) && read_in_later_phase(reader)) return true;
      if (phases_.has(reader) && computing_phase(reader) > phases_.of(id) &&
          !std::holds_alternative<Update>(graph_.node(reader).op)) {
        return true;
      }
    }
    return false;
  }

  // By the kernel over a list, or by an across.
  bool read_beyond_members(NodeId id) const {
    return std::ranges::any_of(storage_.readers(id), [&](NodeId reader) {
      if (is_view(graph_.node(reader).op)) return read_beyond_members(reader);
      return phases_.has(reader) && !graph_.node(reader).type.is_scalar_list();
    });
  }

  int computing_phase(NodeId id) const { return phase_of_reads(graph_, phases_, id); }

  bool stored_by_update(NodeId id) const {
    for (NodeId reader : storage_.readers(id)) {
      const Node& node = graph_.node(reader);
      if (std::holds_alternative<Update>(node.op) && node.inputs[1] == id) return true;
      if (is_view(node.op) && stored_by_update(reader)) return true;
    }
    return false;
  }

  void add_stores(KernelBuilder& builder, NodeId id, int phase) {
    const Node& node = graph_.node(id);
    const bool members = has_members_ && builder.space().is_scalar_list();
    if (is_tensor_wide(node.op) && computing_phase(id) == phase && !members) {
      builder.store(builder.block_sum(id), storage_.blocks(id));
    }
    if (phases_.of(id) != phase || is_view(node.op)) return;
    if (has_members_ && node.type.is_scalar_list() != members) return;
    if (std::holds_alternative<Update>(node.op)) return;  // its value stores it
    if (const auto* gather = std::get_if<AllGather>(&node.op)) {
      const NodeId from = node.inputs[0];
      const bool blocks =
          phases_.has(from) && std::holds_alternative<BlockReduce>(graph_.node(from).op);
      const ValueId value = blocks ? builder.block_sum(from) : builder.value(from);
      builder.store(value, storage_.buffer(id), gather->axes);
      return;
    }
    if (const auto* shift = std::get_if<Shift>(&node.op)) {
      builder.store({builder.value(node.inputs[0]), storage_.buffer(id), {}, false, *shift});
      return;
    }
    if (const auto* exchange = std::get_if<AllToAll>(&node.op)) {
      const ValueId value = builder.value(node.inputs[0]);
      builder.store({value, storage_.buffer(id), exchange->axes, true, {}});
      return;
    }
    const bool needed = read_outside(id) || read_in_later_phase(id) || stored_by_update(id) ||
                        (members && read_beyond_members(id));
    if (!needed && !options_.keep_values) return;
    if (std::holds_alternative<BlockReduce>(node.op)) {
      if (read_outside(id) || options_.keep_values) {
        builder.store(builder.block_sum(id), storage_.buffer(id));
      }
    } else if (const auto* reduce = std::get_if<AllReduce>(&node.op)) {
      std::optional<AxisList> all;
      if (!(builder.space().layout == node.type.layout)) all = reduce->axes;
      builder.store(builder.value(id), storage_.buffer(id), all);
    } else if (const auto* send = std::get_if<Broadcast>(&node.op)) {
      builder.store(builder.value(node.inputs[0]), storage_.buffer(id), send->axes);
    } else if (needed || is_stored_over(builder.space(), node.type)) {
      check(is_stored_over(builder.space(), node.type), "fuse refuses what a kernel cannot store");
      builder.store(builder.value(id), storage_.buffer(id));
    }
  }

  Plan& plan_;
  const Graph& graph_;
  Storage& storage_;
  const Member& member_;
  Phases phases_;
  const LoweringOptions& options_;
  bool has_members_ = false;  // see by_member
  TensorType space_;
};

// The buffer of a value that a launch reads whole: views and constants are copied out first.
BufferId dense(Plan& plan, Storage& storage, NodeId id) {
  const Op& op = plan.graph.node(id).op;
  if (!is_view(op) && !is_literal(op)) {
    return storage.buffer(id);
  }
  const std::string name = "#" + std::to_string(id.index);
  const BufferId copy = storage.temporary(name, plan.graph.node(id).type);
  lower_copy(plan, storage, id, copy, "copy of " + plan.graph.label(id));
  return copy;
}

// The rank's piece is made of blocks of the tensor's flat index.
bool has_whole_blocks(const Graph& graph, NodeId id) {
  const Layout& layout = graph.node(id).type.layout;
  return std::all_of(layout.slice_order().begin(), layout.slice_order().end(),
                     [&](int axis) { return layout.slice(axis).flat; });
}

bool over_last_dim_only(const Graph& graph, const Node& node, const Reduce& reduce) {
  const TensorType& operand = graph.node(node.inputs[0]).type;
  if (reduce.dims != std::vector<int>{operand.rank() - 1}) return false;
  for (int axis : operand.layout.axes_that_are<Sliced>()) {
    if (operand.layout.slice(axis).has(operand.rank() - 1)) return false;
  }
  return !operand.shape.back().is_one();
}

Launch launch_of(const Graph& graph, NodeId id, Work work) {
  Launch launch;
  launch.name = graph.label(id);
  launch.origins = {id};
  launch.where = graph.node(id).where;
  launch.work = std::move(work);
  return launch;
}

}  // namespace

void lower_copy(Plan& plan, Storage& storage, NodeId from, BufferId to, const std::string& name) {
  const Phases none;
  KernelBuilder builder(plan, storage, none, 0, plan.buffer(to).type);
  builder.store(builder.value(from), to);
  Launch launch = launch_of(plan.graph, from, builder.finish());
  launch.name = name;
  plan.launches.push_back(std::move(launch));
}

void lower_member(Plan& plan, Storage& storage, const Member& member,
                  const LoweringOptions& options) {
  const Graph& graph = plan.graph;
  const NodeId only = member.nodes.front();
  const Node& node = graph.node(only);
  if (member.nodes.size() == 1) {
    if (is_view(node.op)) return;
    if (std::holds_alternative<Update>(node.op)) {
      if (!storage.needs_copy(only)) return;
      lower_copy(plan, storage, node.inputs[1], storage.buffer(only), graph.label(only));
      return;
    }
    if (const auto* matmul = std::get_if<Matmul>(&node.op)) {
      const BufferId a = dense(plan, storage, node.inputs[0]);
      const BufferId b = dense(plan, storage, node.inputs[1]);
      const MatmulLaunch work{a, b, storage.buffer(only), matmul->ta, matmul->tb};
      plan.launches.push_back(launch_of(graph, only, work));
      return;
    }
    if (const auto* conv = std::get_if<Conv2d>(&node.op)) {
      const BufferId x = dense(plan, storage, node.inputs[0]);
      const BufferId w = dense(plan, storage, node.inputs[1]);
      const Conv2dLaunch work{x, w, storage.buffer(only), *conv};
      plan.launches.push_back(launch_of(graph, only, work));
      return;
    }
    if (is_movement(node.op)) {
      MoveLaunch work;
      for (NodeId input : node.inputs) work.in.push_back(dense(plan, storage, input));
      work.out = storage.buffer(only);
      if (const auto* op = std::get_if<Transpose>(&node.op)) work.order = op->order;
      if (const auto* op = std::get_if<Concat>(&node.op)) work.dim = op->dim;
      if (const auto* op = std::get_if<Narrow>(&node.op)) {
        work.dim = op->dim;
        work.start = op->start;
      }
      plan.launches.push_back(launch_of(graph, only, std::move(work)));
      return;
    }
    if (const auto* reduce = std::get_if<Reduce>(&node.op)) {
      const bool blocks = reduce->dims.empty() && has_whole_blocks(graph, node.inputs[0]);
      if (!blocks && !over_last_dim_only(graph, node, *reduce)) {
        const BufferId in = dense(plan, storage, node.inputs[0]);
        const ReduceLaunch work{reduce->fn, reduce->dims, in, storage.buffer(only)};
        plan.launches.push_back(launch_of(graph, only, work));
        return;
      }
    }
  }
  RegionLowering(plan, storage, member, options).lower();
  for (NodeId id : member.nodes) {
    const Node& update = graph.node(id);
    if (!std::holds_alternative<Update>(update.op) || !storage.needs_copy(id)) continue;
    lower_copy(plan, storage, update.inputs[1], storage.buffer(id), graph.label(id));
  }
}

}  // namespace coconet::plan
