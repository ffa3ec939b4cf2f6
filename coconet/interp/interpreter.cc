#include "coconet/interp/interpreter.h"

#include <variant>

#include "coconet/base/error.h"
#include "coconet/graph/check_sizes.h"
#include "coconet/graph/walk.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

Pieces default_pieces(const Node& node, double value, const Setting& setting) {
  Pieces out = zero_pieces(node.type, setting);
  const ScalarValue element = value_of(Constant{value, node.type.dtype});
  for (Bytes& piece : out) {
    if (!piece.empty()) store(element, piece.data(), 0);
  }
  return out;
}

Evaluation evaluation_of(const Graph& graph, NodeId id, const std::vector<const Pieces*>& inputs,
                         const Setting& setting) {
  const Node& node = graph.node(id);
  check(inputs.size() == node.inputs.size(), "one value for each input of a node");
  std::vector<const TensorType*> types;
  for (NodeId input : node.inputs) types.push_back(&graph.node(input).type);
  return {node, std::move(types), inputs, setting};
}

}  // namespace

void check_names(const Graph& graph, const std::map<std::string, Pieces>& inputs) {
  for (const auto& [name, pieces] : inputs) {
    if (!input_named(graph, name)) throw UserError(ErrorKind::data, no_input(graph, name));
  }
}

Pieces input_value(const Graph& graph, NodeId id, const std::map<std::string, Pieces>& inputs,
                   const Setting& setting) {
  const Node& node = graph.node(id);
  const auto found = inputs.find(node.name);
  if (found != inputs.end()) {
    check_pieces(node.type, setting, found->second, "input " + node.name);
    return found->second;
  }
  const std::optional<double>& value = std::get<Input>(node.op).default_value;
  if (value) return default_pieces(node, *value, setting);
  throw UserError(ErrorKind::data,
                  "input " + node.name + " has no value, and no default; needed is " +
                      node.type.text(graph.mesh()),
                  node.where);
}

Pieces evaluate(const Graph& graph, NodeId id, const std::vector<const Pieces*>& inputs,
                const Setting& setting) {
  const Evaluation e = evaluation_of(graph, id, inputs, setting);
  return std::visit(
      Overloaded{
          [](const Input&) -> Pieces { throw InternalError("an input is given, not evaluated"); },
          [&](const Constant& op) { return evaluate_constant(e, op); },
          [&](const AxisSize& op) { return evaluate_axis_size(e, op); },
          [&](const DimSize& op) { return evaluate_dim_size(e, op); },
          [&](const Pointwise& op) { return evaluate_pointwise(e, op); },
          [&](const Cast&) { return evaluate_cast(e); },
          [&](const Dropout& op) { return evaluate_dropout(e, op); },
          [&](const Matmul&) { return evaluate_matmul(e); },
          [&](const Conv2d&) { return evaluate_conv2d(e); },
          [&](const Reduce& op) { return evaluate_reduce(e, op); },
          [&](const Norm&) { return evaluate_norm(e); },
          [&](const LayerNorm&) { return evaluate_layer_norm(e); },
          [&](const RmsNorm&) { return evaluate_rms_norm(e); },
          [&](const Softmax&) { return evaluate_softmax(e); },
          [&](const Transpose& op) { return evaluate_transpose(e, op); },
          [&](const Reshape&) { return evaluate_reshape(e); },
          [&](const Narrow& op) { return evaluate_narrow(e, op); },
          [&](const Concat& op) { return evaluate_concat(e, op); },
          [&](const BlockReduce& op) { return evaluate_block_reduce(e, op); },
          [&](const FoldBlocks& op) { return evaluate_fold_blocks(e, op); },
          [&](const Across& op) { return evaluate_across(e, op); },
          [&](const Update&) { return *e.values[1]; },
          [&](const AllReduce& op) { return evaluate_group_fold(e, op.fold, op.axes); },
          [&](const ReduceScatter& op) { return evaluate_group_fold(e, op.fold, op.axes); },
          [&](const AllGather& op) { return evaluate_all_gather(e, op); },
          [&](const ReduceTo& op) { return evaluate_group_fold(e, op.fold, op.axes); },
          [&](const Broadcast& op) { return evaluate_broadcast(e, op); },
          [&](const Shard&) { return evaluate_keep(e); },
          [&](const RootOf&) { return evaluate_keep(e); },
          [&](const AsPartial& op) { return evaluate_as_partial(e, op); },
          [&](const Shift& op) { return evaluate_shift(e, op); },
          [&](const AllToAll& op) { return evaluate_all_to_all(e, op); },
          [&](const Stack&) { return *e.values[0]; },  // the same bytes, by one dim more
      },
      graph.node(id).op);
}

Result run(const Graph& graph, const std::map<std::string, Pieces>& inputs, const Setting& given) {
  Setting setting = given;
  setting.sizes = with_axes(given.sizes, graph.mesh(), given.mesh);
  check_names(graph, inputs);
  check_sizes(graph, setting.sizes, setting.mesh);
  Result result;
  for (int index = 0; index < graph.size(); ++index) {
    const Node& node = graph.node({index});
    if (std::holds_alternative<Input>(node.op)) {
      result.values.push_back(input_value(graph, {index}, inputs, setting));
      continue;
    }
    std::vector<const Pieces*> operands;
    for (NodeId operand : node.inputs) operands.push_back(&result.values[operand.index]);
    result.values.push_back(evaluate(graph, {index}, operands, setting));
    if (std::holds_alternative<Update>(node.op)) {
      result.storage[graph.node(node.inputs[0]).name] = result.values.back();
    }
  }
  for (const Output& output : graph.outputs()) {
    result.outputs[output.name] = result.values[output.node.index];
  }
  return result;
}

}  // namespace coconet::interp
