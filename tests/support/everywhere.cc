#include "tests/support/everywhere.h"

#include <gtest/gtest.h>

#include "coconet/execute/compiled.h"
#include "coconet/execute/inputs.h"
#include "coconet/execute/run.h"
#include "coconet/graph/print.h"
#include "coconet/simulate/executor.h"

namespace coconet {
namespace {

const TensorType& type_of(const Graph& graph, const std::string& output) {
  for (const Output& each : graph.outputs()) {
    if (each.name == output) return graph.node(each.node).type;
  }
  throw InternalError("no output " + output);
}

void replace(Planned& sample, const GivenValues& values) {
  execute::GlobalTensors tensors;
  for (const auto& [name, numbers] : values) {
    const NodeId node = sample.graph.find(name);
    TensorData& tensor = tensors[name];
    tensor = execute::gather(sample.graph.node(node).type, sample.inputs.at(name), sample.setting);
    ASSERT_EQ(tensor.elements(), static_cast<std::int64_t>(numbers.size())) << name;
    for (std::size_t i = 0; i < numbers.size(); ++i) tensor.set_value(i, numbers[i]);
  }
  execute::draw_missing(sample.graph, sample.setting, tensors);
  for (auto& [name, pieces] : execute::distribute(sample.graph, tensors, sample.setting)) {
    if (values.count(name) > 0) sample.inputs[name] = pieces;
  }
}

void expect_compiled(const Planned& sample, const interp::Result& want) {
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting = sample.setting;
  request.inputs = sample.inputs;
  request.kind = runtime::RankKind::thread;
  request.knobs.chunks.assign(compiled.plan().overlaps.size(), 3);
  request.timeout = std::chrono::seconds(100);
  request.threads = 3;
  request.thread_grain = 1;
  for (const bool small : {false, true}) {
    request.knobs.one_shot = small;
    const execute::RunResult run = execute::run(compiled, request);
    EXPECT_TRUE(same_results(sample.graph, {run.outputs, run.storage, {}}, want))
        << "generated code differs" << (small ? ", as a small call\n" : "\n")
        << print(sample.graph);
  }
}

}  // namespace

std::vector<double> Everywhere::on_rank(const std::string& output, int rank) const {
  TensorData piece;
  piece.dtype = type_of(graph, output).dtype.kind;
  piece.bytes = result.outputs.at(output).at(rank);
  piece.shape = {static_cast<std::int64_t>(piece.bytes.size()) / size_of(piece.dtype)};
  std::vector<double> out;
  for (std::int64_t i = 0; i < piece.elements(); ++i) out.push_back(piece.value(i));
  return out;
}

std::vector<double> Everywhere::global(const std::string& output) const {
  const TensorData tensor =
      execute::gather(type_of(graph, output), result.outputs.at(output), setting);
  std::vector<double> out;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.value(i));
  return out;
}

Everywhere run_everywhere(const std::string& program, const std::string& steps, const Sizes& sizes,
                          const std::vector<int>& mesh, const GivenValues& values, Also also,
                          std::uint64_t call) {
  Planned sample = planned(program, steps, sizes, mesh);
  sample.setting.call_number = call;
  replace(sample, values);
  const interp::Result want = sample.meaning();
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const simulate::ExecutorOptions options{
        simulate::policy_of(seed), seed, std::vector<std::int64_t>(sample.plan.overlaps.size(), 3)};
    EXPECT_TRUE(same_results(
        sample.graph, simulate::execute(sample.plan, sample.setting, sample.inputs, options), want))
        << "the plan executor differs\n"
        << print(sample.graph);
  }
  if (also == Also::compiled) expect_compiled(sample, want);
  return {sample.graph, sample.setting, want};
}

}  // namespace coconet
