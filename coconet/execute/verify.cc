#include "coconet/execute/verify.h"

#include "coconet/interp/compare.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/plan/units.h"

namespace coconet::execute {
namespace {

using interp::Pieces;

// The compiled value of every node; of leaves and views, which no kernel computes, the
// interpreter's.
std::vector<Pieces> values_of(const Graph& graph, const RunRequest& request,
                              const RunResult& kept) {
  std::vector<Pieces> values(graph.size());
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    const auto found = kept.outputs.find("#" + std::to_string(i));
    if (std::holds_alternative<Input>(node.op)) {
      values[i] = request.inputs.at(node.name);
    } else if (found != kept.outputs.end()) {
      values[i] = found->second;
    } else {
      std::vector<const Pieces*> inputs;
      for (NodeId input : node.inputs) inputs.push_back(&values[input.index]);
      values[i] = interp::evaluate(graph, NodeId{i}, inputs, request.setting);
    }
  }
  return values;
}

void check_nodes(const Graph& graph, const RunRequest& request, const std::vector<Pieces>& values,
                 Verification& out) {
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (std::holds_alternative<Input>(node.op)) continue;
    std::vector<const Pieces*> inputs;
    for (NodeId input : node.inputs) inputs.push_back(&values[input.index]);
    const interp::NodeCheck check =
        interp::check_node(graph, NodeId{i}, inputs, values[i], request.setting);
    if (check.within) continue;
    out.within_bound = false;
    if (!out.first_outside.empty()) continue;
    out.first_outside = graph.label(NodeId{i});
    if (check.first_outside) out.first_outside += ": " + check.first_outside->text();
  }
}

interp::Comparison compare_global(const TensorType& type, const Pieces& got,
                                  const TensorType& want_type, const Pieces& want,
                                  const interp::Setting& setting) {
  if (type.layout == want_type.layout) return interp::compare(type.dtype.kind, got, want);
  return interp::compare(type.dtype.kind, interp::assemble(type, setting, got),
                         interp::assemble(want_type, setting, want));
}

NodeId output_node(const Graph& graph, const std::string& name) {
  for (const Output& output : graph.outputs()) {
    if (output.name == name) return output.node;
  }
  throw InternalError("a schedule keeps the outputs");
}

}  // namespace

Verification verify(const Graph& unscheduled, const RunRequest& request,
                    const Graph& scheduled_graph, const RunResult& scheduled,
                    const runtime::Toolchain& toolchain) {
  Verification out;
  const Compiled compiled(unscheduled, {.schedule = "", .keep_values = true}, toolchain);
  RunRequest once = request;
  once.repeat = 1;
  const RunResult kept = run(compiled, once);
  check_nodes(unscheduled, request, values_of(unscheduled, request, kept), out);
  const interp::Result meaning = interp::run(unscheduled, request.inputs, request.setting);
  const auto add = [&](const std::string& name, const TensorType& type, const Pieces& got,
                       const TensorType& plain_type, const Pieces& plain, const Pieces& meant) {
    const auto to_plain = compare_global(type, got, plain_type, plain, request.setting);
    const auto to_meaning = compare_global(type, got, plain_type, meant, request.setting);
    out.outputs[name] = {to_plain.equal(), to_plain.largest, to_meaning.largest};
  };
  for (const Output& output : unscheduled.outputs()) {
    const std::string& name = output.name;
    add(name, scheduled_graph.node(output_node(scheduled_graph, name)).type,
        scheduled.outputs.at(name), unscheduled.node(output.node).type, kept.outputs.at(name),
        meaning.outputs.at(name));
  }
  for (const auto& [name, pieces] : scheduled.storage) {
    add(name, scheduled_graph.node(scheduled_graph.find(name)).type, pieces,
        unscheduled.node(unscheduled.find(name)).type, kept.storage.at(name),
        meaning.storage.at(name));
  }
  return out;
}

}  // namespace coconet::execute
