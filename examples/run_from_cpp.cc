// A program written, scheduled, compiled and run on four ranks from C++ alone: no file, no tool.
#include <cstdio>

#include "coconet/base/error.h"
#include "coconet/execute/inputs.h"
#include "coconet/execute/run.h"
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"

using namespace coconet;

namespace {

constexpr int kRanks = 4;
constexpr std::int64_t kParameters = 10;

// The scheduled graph of p2 = p - 0.5 * (mean of the ranks' gradients), each rank doing its slice.
Graph sharded_step() {
  Program program("step", Mesh{"world", {"dp"}});
  const Dim n = program.dim("N");
  const Tensor g = program.input("g", f32, {n}, local());
  const Tensor p = program.input("p", f32, {n});
  const Tensor total = program.let("total", all_reduce(g, Fold::sum));
  const Tensor p2 = program.let("p2", update(p, p - 0.5 * total / program.size("dp")));
  program.returns({p2});

  Scheduling steps("sharded", program.graph());
  const auto [rs, ag] = steps.split(total).as("rs", "ag");
  const auto [body, gather] = steps.reorder(ag, {p2}).as("body", "gather");
  steps.fuse({rs, body, gather});
  return steps.graph();
}

int run() {
  const Graph graph = sharded_step();
  interp::Setting setting;
  setting.mesh = MeshSizes{{kRanks}};
  setting.sizes = {{"N", kParameters}};

  // Global tensors, as files hold them: g is local, so it has a leading dim of the axis's size.
  execute::GlobalTensors inputs;
  inputs["g"] = TensorData::zeros(DTypeKind::f32, {kRanks, kParameters});
  inputs["p"] = TensorData::zeros(DTypeKind::f32, {kParameters});
  for (std::int64_t i = 0; i < kRanks * kParameters; ++i) {
    inputs["g"].set_value(i, static_cast<double>(i / kParameters));  // rank r's gradients are r
  }

  const execute::Compiled compiled(graph, {.schedule = "sharded"}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting = setting;
  request.inputs = execute::distribute(graph, inputs, setting);
  const execute::RunResult result = execute::run(compiled, request);

  const TensorType& type = graph.node(graph.outputs()[0].node).type;
  const TensorData p2 = execute::gather(type, result.outputs.at("p2"), setting);
  for (std::int64_t i = 0; i < p2.elements(); ++i) std::printf("%g ", p2.value(i));
  std::printf("\n");
  return p2.elements() == kParameters && p2.value(0) == -0.75 ? 0 : 1;  // 0 - 0.5 * (0+1+2+3)/4
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
