#include "coconet/plan/staging.h"

#include <algorithm>

#include "coconet/base/nearest.h"
#include "coconet/graph/walk.h"
#include "coconet/plan/access.h"
#include "coconet/plan/chunking.h"

namespace coconet::plan {
namespace {

[[noreturn]] void refuse_name(const Graph& graph, const std::string& name) {
  std::vector<std::string> known = names_to_stage(graph);
  for (const Output& output : graph.outputs()) {
    if (std::ranges::count(known, output.name) == 0) known.push_back(output.name);
  }
  const std::size_t dot = name.find('.');
  const NodeId list = graph.find(name.substr(0, dot));
  if (dot != std::string::npos && list.valid() && graph.node(list).type.is_list()) {
    throw UserError(ErrorKind::usage, "staged: " + name + " is a member of the list " +
                                          name.substr(0, dot) +
                                          "; the members of a list stand in one memory, packed: "
                                          "stage the list");
  }
  throw UserError(ErrorKind::usage, "staged: the program has no input, state or output " + name +
                                        suggestion(name, known) + "; there are " + listed(known));
}

// An input that is updated is copied to an output of its old value.
bool stands_in_input(const Graph& graph, NodeId id) {
  if (std::holds_alternative<Update>(graph.node(id).op)) return true;
  if (!std::holds_alternative<Input>(graph.node(id).op)) return false;
  return std::ranges::none_of(graph.nodes(), [&](const Node& node) {
    return std::holds_alternative<Update>(node.op) && base_of(graph, node.inputs[0]) == id;
  });
}

}  // namespace

std::vector<std::string> names_to_stage(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (input && input->kind != InputKind::scalar) out.push_back(node.name);
  }
  std::vector<NodeId> seen;
  for (const Output& output : graph.outputs()) {
    if (stands_in_input(graph, output.node) || std::ranges::count(seen, output.node) > 0) continue;
    seen.push_back(output.node);
    if (std::ranges::count(out, output.name) == 0) out.push_back(output.name);
  }
  return out;
}

bool is_copy(const Plan& plan, const Kernel& kernel) {
  if (kernel.statements.size() != 1 || kernel.stores.size() != 1) return false;
  const Load* load = std::get_if<Load>(&kernel.statements[0].action);
  const Store& store = kernel.stores[0];
  if (!load || kernel.statements[0].level != Level::element || !reach_of(store).empty()) {
    return false;
  }
  const auto alike = [&](BufferId id) {
    const TensorType& type = plan.buffer(id).type;
    return type.shape == kernel.space.shape && type.layout == kernel.space.layout;
  };
  return alike(load->buffer) && alike(store.buffer) && !kernel.statements[0].per_peer;
}

Staging::Staging(Plan& plan, const std::vector<std::string>& names) : plan_(plan) {
  const Graph& graph = plan.graph;
  for (const std::string& name : names) {
    if (const BufferId buffer = plan.parameter(name); buffer.valid()) {
      plan_.buffers[buffer.index].of_caller = true;
      origins_.emplace(buffer, graph.find(name));
      continue;
    }
    if (std::ranges::none_of(graph.outputs(), [&](const Output& o) { return o.name == name; })) {
      refuse_name(graph, name);
    }
    outputs_.insert(name);
  }
}

void Staging::mark(const Output& output, BufferId buffer) {
  plan_.buffers[buffer.index].of_caller = true;
  origins_.emplace(buffer, output.node);
}

BufferId Staging::temporary(BufferId like, const std::string& suffix) {
  const Buffer& buffer = plan_.buffer(like);
  Buffer made;
  made.name = buffer.name + suffix;
  made.type = buffer.type;
  const int number = ++named_[made.name];
  if (number > 1) made.name += std::to_string(number);
  plan_.buffers.push_back(std::move(made));
  return BufferId{static_cast<int>(plan_.buffers.size()) - 1};
}

void Staging::copy(BufferId from, BufferId to, NodeId origin, const std::string& name) {
  const TensorType& type = plan_.buffer(from).type;
  const Level level = type.is_scalar() ? Level::call : Level::element;
  Kernel kernel;
  kernel.space = type;
  kernel.statements.push_back({Load{from}, {}, type.dtype, level, false, origin});
  kernel.stores.push_back({ValueId{0}, to, {}, false, {}});
  Launch launch;
  launch.name = name;
  launch.origins = {origin};
  launch.where = plan_.graph.node(origin).where;
  launch.work = std::move(kernel);
  launch.staging = true;
  plan_.launches.push_back(std::move(launch));
}

// What is read of peers is copied before, unless its present value has been, or came from peers.
void Staging::stage_reads(Launch& launch) {
  Kernel* kernel = std::get_if<Kernel>(&launch.work);
  if (!kernel) return;
  for (Statement& statement : kernel->statements) {
    Load* load = std::get_if<Load>(&statement.action);
    if (!load || !statement.per_peer || !is_staged(load->buffer)) continue;
    const BufferId from = load->buffer;
    if (!shared_.contains(from)) {
      const BufferId to = temporary(from, ".in");
      copy(from, to, origins_.at(from), "copy " + plan_.buffer(from).name + " in");
      shared_[from] = to;
    }
    load->buffer = shared_[from];
  }
}

// The buffers that peers write, whose temporaries they write now (shared_).
std::vector<BufferId> Staging::stage_writes(Launch& launch) {
  std::vector<BufferId> out;
  for (const Access& access : accesses_of(plan_, launch)) {
    if (access.write) shared_.erase(access.buffer);
  }
  Kernel* kernel = std::get_if<Kernel>(&launch.work);
  if (!kernel) return out;
  for (Store& store : kernel->stores) {
    if (reach_of(store).empty() || !is_staged(store.buffer)) continue;
    const BufferId to = store.buffer;
    if (!shared_.contains(to)) {
      shared_[to] = temporary(to, ".out");
      out.push_back(to);
    }
    store.buffer = shared_[to];
  }
  return out;
}

void Staging::stage(const Unit& unit, int first) {
  if (origins_.empty()) return;
  const auto from = plan_.launches.begin() + first;
  std::vector<Launch> launches(std::make_move_iterator(from),
                               std::make_move_iterator(plan_.launches.end()));
  const std::size_t count = launches.size();
  plan_.launches.resize(first);
  for (Launch& launch : launches) {
    stage_reads(launch);
    const std::vector<BufferId> written = stage_writes(launch);
    plan_.launches.push_back(std::move(launch));
    for (const BufferId to : written) {
      copy(shared_[to], to, origins_.at(to), "copy " + plan_.buffer(to).name + " out");
    }
  }
  const bool copies = plan_.launches.size() - first > count;
  if (copies && !unit.overlapped.valid()) form_staging_group(plan_, first);
}

void Staging::note_whole_copies() {
  for (const Launch& launch : plan_.launches) {
    if (launch.overlap >= 0 || !launch.staging) continue;
    plan_.notes.push_back(launch.name + ": whole, not chunk by chunk, as what " +
                          (launch.name.ends_with(" in") ? "reads" : "writes") +
                          " it needs all of it, or cuts no such chunks");
  }
}

}  // namespace coconet::plan
