#include "tests/support/planned.h"

#include "coconet/execute/inputs.h"
#include "coconet/interp/compare.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"

namespace coconet {

Planned planned(const std::string& program, const std::string& steps, const Sizes& sizes,
                const std::vector<int>& mesh) {
  const Graph graph = parse_program(program);
  return planned(graph,
                 parse_schedule("schedule s for " + graph.header().program + " {" + steps + "}"),
                 sizes, mesh);
}

Planned planned(const Graph& graph, const Schedule& schedule, const Sizes& sizes,
                const std::vector<int>& mesh) {
  Planned out{apply(graph, schedule).graph, {}, {}, {}};
  out.plan = plan::from_schedule(out.graph);
  out.setting.mesh.sizes = mesh;
  out.setting.sizes = with_axes(sizes, graph.mesh(), out.setting.mesh);
  out.setting.seed = 7;
  execute::GlobalTensors tensors;
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (!input || input->kind != InputKind::scalar || input->default_value) continue;
    tensors[node.name] = TensorData::zeros(node.type.dtype.kind, {});
    tensors[node.name].set_value(0, 3);
  }
  execute::draw_missing(out.graph, out.setting, tensors);
  out.inputs = execute::distribute(out.graph, tensors, out.setting);
  return out;
}

std::vector<interp::Result> meanings(const Graph& graph, const interp::Setting& setting,
                                     std::map<std::string, interp::Pieces> inputs, int count) {
  std::vector<interp::Result> out;
  interp::Setting now = setting;
  for (; count > 0; --count, ++now.call_number) {
    out.push_back(interp::run(graph, inputs, now));
    for (const auto& [name, pieces] : out.back().storage) inputs[name] = pieces;
  }
  return out;
}

std::vector<simulate::CallGiven> calls_in_a_row(const interp::Setting& setting,
                                                const std::map<std::string, interp::Pieces>& inputs,
                                                int count) {
  std::vector<simulate::CallGiven> out = {{setting, inputs}};
  for (int call = 1; call < count; ++call) {
    out.push_back({setting, {}});
    out.back().setting.call_number += static_cast<std::uint64_t>(call);
  }
  return out;
}

bool same_results(const Graph& graph, const interp::Result& a, const interp::Result& b) {
  for (const Output& output : graph.outputs()) {
    const DTypeKind kind = graph.node(output.node).type.dtype.kind;
    if (!interp::compare(kind, a.outputs.at(output.name), b.outputs.at(output.name)).equal()) {
      return false;
    }
  }
  for (const auto& [name, pieces] : a.storage) {
    const DTypeKind kind = graph.node(graph.find(name)).type.dtype.kind;
    if (!interp::compare(kind, pieces, b.storage.at(name)).equal()) return false;
  }
  return true;
}

const char* const kAttention = R"(
mesh world(tp)
dim B, S, H
program attention(x: f32[B,S,H] sliced(2), w: f32[H,H] sliced(0), b: f32[H], r: f32[B,S,H],
                  scalar rate: f32 = 0.25) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  drop = dropout(total + b, rate)
  out = drop + r
  return out
}
)";
const char* const kAttentionOverlapped = R"(
  rs, ag = split(total)
  body, gather = reorder(ag, [drop, out])
  ar = fuse(rs, body, gather)
  overlap(layer, ar)
)";
const char* const kSum = R"(
mesh world(dp)
dim N
program sum(x: f32[N] local) {
  y = x + x
  total = all_reduce(y, +)
  return total
}
)";
const char* const kNormStep = R"(
mesh world(dp)
dim N
program step(g: f16[N] local, p: f32[N], state m: f32[N], scalar lr: f32 = 0.1) {
  total = all_reduce(cast(g, f32), +)
  m2 = update(m, 0.5 * m + total)
  size = norm(m2)
  p2 = update(p, p - lr * m2 / size)
  return p2
}
)";
const char* const kNormStepSharded = R"(
  rs, ag = split(total)
  body, gm, gp = reorder(ag, [m2, size, p2])
  as_slice(m)
  dead(gm)
  fuse(rs, body, gp)
)";

}  // namespace coconet
