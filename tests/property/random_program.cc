#include "tests/property/random_program.h"

#include "coconet/graph/expand.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/interp/scalar.h"
#include "tests/property/program_writer.h"

namespace coconet::property {
namespace {

Header header_of(int axes, std::optional<DTypeKind> parameter) {
  Header header;
  header.program = "random";
  header.mesh.name = "world";
  for (int i = 0; i < axes; ++i) header.mesh.axes.push_back(i == 0 ? "tp" : "dp");
  header.dims = {"B", "S", "H", "N", "L_i"};
  if (parameter) header.dtypes.push_back({"T", *parameter});
  return header;
}

interp::ScalarValue random_value(Random& random, DTypeKind kind) {
  if (kind == DTypeKind::boolean) return interp::scalar(random.chance(50));
  if (is_integer(kind)) {
    return interp::cast(interp::scalar(std::int64_t{random.below(21) - 10}), kind);
  }
  const double value = random.chance(3) ? 0.0 : 4 * random.uniform() - 1.5;
  return interp::cast(interp::scalar(value), kind);
}

}  // namespace

Program random_program(Random& random) {
  static const std::vector<DTypeKind> kBound = {DTypeKind::f16, DTypeKind::f16, DTypeKind::bf16,
                                                DTypeKind::f32, DTypeKind::f64};
  std::optional<DTypeKind> parameter;
  if (random.chance(30)) parameter = random.pick(kBound);
  ProgramWriter writer(random, header_of(random.chance(60) ? 1 : 2, parameter));
  Program program = writer.write(1 + random.below(8));
  program.parameter = parameter;
  return program;
}

Graph build(const Program& program) {
  GraphBuilder builder(header_of(program.axes, program.parameter));
  std::vector<NodeId> ids;
  for (const Statement& statement : program.statements) {
    std::vector<NodeId> inputs;
    for (int operand : statement.operands) inputs.push_back(ids.at(operand));
    ids.push_back(add_visible(builder, statement.op, inputs, statement.name));
  }
  for (int output : program.outputs) {
    const NodeId id = ids.at(output);
    if (builder.node(id).name.empty()) builder.set_name(id, builder.fresh_name("out"));
    builder.add_output(builder.node(id).name, id);
  }
  return std::move(builder).finish();
}

interp::Setting random_setting(Random& random, int axes) {
  interp::Setting setting;
  const std::vector<std::int64_t> few = {0, 1, 1, 2, 2, 3, 4, 5, 7};
  const std::vector<std::int64_t> wide = {0, 1, 2, 3, 4, 6, 8, 11, 13, 17, 24};
  const std::vector<std::int64_t> long_ones = {0,   1,    2,    7,    31,   64,
                                               100, 1023, 1024, 1025, 2049, 3000};
  setting.sizes = {{"B", random.pick(few)},
                   {"S", random.pick(few)},
                   {"H", random.pick(wide)},
                   {"N", random.pick(long_ones)}};
  const std::vector<std::int64_t> of_members = {0, 1, 3, 17, 1023, 1024, 1025, 2100};
  std::vector<std::int64_t>& list = setting.sizes.lists["L_i"];
  for (int members = random.below(5); members > 0; --members) {
    list.push_back(random.pick(of_members));
  }
  if (axes == 1) {
    setting.mesh.sizes = {random.pick(std::vector<int>{1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8})};
  } else {
    setting.mesh.sizes = random.pick(std::vector<std::vector<int>>{
        {1, 1}, {1, 3}, {2, 1}, {2, 2}, {2, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 2}});
  }
  setting.seed = random.next();
  setting.call_number = static_cast<std::uint64_t>(random.below(3));
  return setting;
}

std::map<std::string, interp::Bytes> random_inputs(const Graph& graph,
                                                   const interp::Setting& setting,
                                                   std::uint64_t seed) {
  Random random(seed);
  std::map<std::string, interp::Bytes> out;
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Input>(node.op)) continue;
    std::int64_t count = 1;
    for (std::int64_t size : interp::global_sizes(node.type, setting)) count *= size;
    const DTypeKind kind = node.type.dtype.kind;
    interp::Bytes bytes(count * size_of(kind));
    for (std::int64_t i = 0; i < count; ++i) {
      interp::store(random_value(random, kind), bytes.data(), i);
    }
    out[node.name] = std::move(bytes);
  }
  return out;
}

std::map<std::string, interp::Pieces> pieces_of(
    const Graph& graph, const interp::Setting& setting,
    const std::map<std::string, interp::Bytes>& global) {
  std::map<std::string, interp::Pieces> out;
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Input>(node.op)) continue;
    out[node.name] = interp::scatter_global(node.type, setting, global.at(node.name));
  }
  return out;
}

}  // namespace coconet::property
