#include "coconet/execute/verify.h"

#include <algorithm>
#include <set>

#include "coconet/interp/compare.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/plan/units.h"
#include "coconet/runtime/matmul_self_test.h"

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
      values[i] = interp::input_value(graph, NodeId{i}, request.inputs, request.setting);
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

// A result as one graph has it.
struct Held {
  const TensorType& type;
  const Pieces& pieces;
};

interp::Comparison compare_held(const Held& got, const Held& want, const interp::Setting& setting) {
  const DTypeKind kind = got.type.dtype.kind;
  if (got.type.layout == want.type.layout) return interp::compare(kind, got.pieces, want.pieces);
  return interp::compare(kind, interp::assemble(got.type, setting, got.pieces),
                         interp::assemble(want.type, setting, want.pieces));
}

OutputCheck check_output(const Held& got, const Held& plain, const Pieces& meaning,
                         const interp::Setting& setting) {
  OutputCheck out;
  const interp::Comparison to_plain = compare_held(got, plain, setting);
  out.bit_equal_to_unscheduled = to_plain.equal();
  out.difference_to_unscheduled = to_plain.largest;
  if (to_plain.first) out.first_difference = to_plain.first->text();
  out.difference_to_interpreter = compare_held(got, {plain.type, meaning}, setting).largest;
  const auto replica = interp::replica_difference(got.type, setting, got.pieces);
  if (replica) out.first_replica_difference = replica->text();
  return out;
}

NodeId output_node(const Graph& graph, const std::string& name) {
  for (const Output& output : graph.outputs()) {
    if (output.name == name) return output.node;
  }
  throw InternalError("a schedule keeps the outputs");
}

const TensorType& output_type(const Graph& graph, const std::string& name) {
  return graph.node(output_node(graph, name)).type;
}

const TensorType& storage_type(const Graph& graph, const std::string& name) {
  return graph.node(graph.find(name)).type;
}

RunResult run_once(const Compiled& compiled, RunRequest request) {
  request.repeat = 1;
  std::vector<std::int64_t>& chunks = request.knobs.chunks;
  chunks.resize(std::min(chunks.size(), compiled.plan().overlaps.size()));
  return run(compiled, request);
}

kernel::MatmulType matmul_type(DTypeKind kind) {
  switch (kind) {
    case DTypeKind::f16: return kernel::MatmulType::f16;
    case DTypeKind::bf16: return kernel::MatmulType::bf16;
    case DTypeKind::f32: return kernel::MatmulType::f32;
    case DTypeKind::f64: return kernel::MatmulType::f64;
    case DTypeKind::i32:
    case DTypeKind::i64:
    case DTypeKind::boolean: break;
  }
  throw InternalError("a matmul is of floating types");
}

// The scheduled program's own operations, and that its results come out the same again.
void check_reassociated(const CompiledForVerify& compiled, const RunRequest& request,
                        const RunResult& result, Verification& out) {
  const Graph& graph = compiled.scheduled();
  const RunResult kept = run_once(*compiled.reassociated(), request);
  check_nodes(graph, request, values_of(graph, request, kept), out);
  const auto compare_again = [&](const std::string& name, const TensorType& type, const Pieces& got,
                                 const Pieces& again) {
    const interp::Comparison comparison = interp::compare(type.dtype.kind, got, again);
    if (comparison.equal()) return;
    out.within_bound = false;
    if (out.first_outside.empty()) out.first_outside = name + ": " + comparison.first->text();
  };
  for (const auto& [name, pieces] : result.outputs) {
    compare_again(name, output_type(graph, name), pieces, kept.outputs.at(name));
  }
  for (const auto& [name, pieces] : result.storage) {
    compare_again(name, storage_type(graph, name), pieces, kept.storage.at(name));
  }
}

}  // namespace

CompiledForVerify::CompiledForVerify(const Graph& unscheduled, const Graph& scheduled,
                                     Exactness exactness, const runtime::Toolchain& toolchain)
    : unscheduled_(unscheduled), scheduled_(scheduled) {
  std::vector<plan::Plan> plans;
  const auto add = [&](const Graph& graph) {
    plans.push_back(plan::from_schedule(graph, {.schedule = "", .keep_values = true}));
  };
  add(unscheduled_);
  if (exactness == Exactness::reassociates) add(scheduled_);
  compiled_ = compile_all(std::move(plans), toolchain);
}

std::string inexact_matmul(const Graph& graph) {
  std::set<DTypeKind> kinds;
  for (const Node& node : graph.nodes()) {
    if (is_product(node.op)) {
      kinds.insert(graph.node(node.inputs[0]).type.dtype.kind);
    }
  }
  for (const DTypeKind kind : kinds) {
    const runtime::MatmulSelfTest test = runtime::matmul_self_test(matmul_type(kind));
    if (!test.holds) return "matmul of " + std::string(name_of(kind)) + ": " + test.finding;
  }
  return "";
}

Verification verify(const CompiledForVerify& compiled, const RunRequest& request,
                    const RunRequest& scheduled_request, const RunResult& result) {
  const Graph& plain = compiled.unscheduled();
  const interp::Setting& setting = request.setting;
  Verification out;
  const RunResult kept = run_once(compiled.plain(), request);
  check_nodes(plain, request, values_of(plain, request, kept), out);
  if (compiled.reassociated()) check_reassociated(compiled, scheduled_request, result, out);
  const interp::Result meaning = interp::run(plain, request.inputs, setting);
  for (const auto& [name, pieces] : result.outputs) {
    out.outputs[name] = check_output({output_type(compiled.scheduled(), name), pieces},
                                     {output_type(plain, name), kept.outputs.at(name)},
                                     meaning.outputs.at(name), setting);
  }
  for (const auto& [name, pieces] : result.storage) {
    out.storage[name] = check_output({storage_type(compiled.scheduled(), name), pieces},
                                     {storage_type(plain, name), kept.storage.at(name)},
                                     meaning.storage.at(name), setting);
  }
  return out;
}

std::string first_difference(const ResultOf& scheduled, const ResultOf& unscheduled,
                             const interp::Setting& setting) {
  const auto differ = [&](const std::string& name, const Held& got, const Held& want) {
    const interp::Comparison comparison = compare_held(got, want, setting);
    return comparison.first ? name + ": " + comparison.first->text() : "";
  };
  for (const auto& [name, pieces] : scheduled.result.outputs) {
    const std::string out =
        differ(name, {output_type(scheduled.graph, name), pieces},
               {output_type(unscheduled.graph, name), unscheduled.result.outputs.at(name)});
    if (!out.empty()) return out;
  }
  for (const auto& [name, pieces] : scheduled.result.storage) {
    const std::string out =
        differ(name, {storage_type(scheduled.graph, name), pieces},
               {storage_type(unscheduled.graph, name), unscheduled.result.storage.at(name)});
    if (!out.empty()) return out;
  }
  return "";
}

}  // namespace coconet::execute
