#include "tests/property/compiled_runner.h"

#include <algorithm>

#include "coconet/execute/compiled.h"
#include "coconet/execute/run.h"

namespace coconet::property {
namespace {

// Sizes are small: the default would be one.
std::int64_t chunks_of(const interp::Setting& setting) {
  return 3 + static_cast<std::int64_t>(setting.seed % 5);
}

bool multiplies_floats(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return is_product(node.op) && is_floating(node.type.dtype.kind);
  });
}

}  // namespace

std::optional<std::string> CompiledRunner::operator()(const RunnerCall& call) {
  const bool multiplies = multiplies_floats(call.graph);
  if (!multiplies && !call.last) return std::nullopt;  // the last graph's bits say it all
  const std::vector<std::string> staged = drawn_to_stage(call.graph, call.setting.seed);
  const execute::Compiled compiled(call.graph, {.staged = staged}, toolchain_);
  execute::RunRequest request;
  request.setting = call.setting;
  request.inputs = call.inputs;
  request.kind = runtime::RankKind::thread;
  request.knobs.chunks.assign(compiled.plan().overlaps.size(), chunks_of(call.setting));
  request.timeout = std::chrono::seconds(60);
  // Sizes are small: by default all would be one thread's.
  request.threads = 1 + static_cast<int>(call.setting.seed / 2 % 5);
  request.thread_grain = call.setting.seed % 3 == 0 ? 300 : 1;
  request.knobs.one_shot =
      call.setting.seed % 2 == 0;  // sizes are small: the default would be always
  const execute::RunResult run = execute::run(compiled, request);
  const interp::Result got{run.outputs, run.storage, {}};
  if (call.unscheduled) {
    graph_ = call.graph;
    unscheduled_ = got;
  }
  if (!multiplies) {
    return differs(call.setting, call.graph, got, call.graph, call.want, true);
  }
  if (call.unscheduled) {
    return differs(call.setting, call.graph, got, call.graph, call.want, false);
  }
  if (!call.exact) return std::nullopt;
  return differs(call.setting, call.graph, got, *graph_, unscheduled_, true);
}

}  // namespace coconet::property
