#include "python/bindings/given.h"

#include <nanobind/stl/string.h>

#include "coconet/execute/lists.h"
#include "coconet/graph/walk.h"
#include "coconet/interp/global_tensor.h"
#include "python/bindings/arrays.h"

namespace nb = nanobind;

namespace coconet::python {
void need_tensors(const Graph& graph, const execute::GlobalTensors& given) {
  std::string missing, all;
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (!input || input->kind == InputKind::state || input->default_value) continue;
    all += (all.empty() ? "" : ", ") + node.name;
    if (node.type.is_list() || given.contains(node.name)) continue;  // a list may have no members
    missing += (missing.empty() ? "" : ", ") + node.name;
  }
  if (missing.empty()) return;
  throw UserError(ErrorKind::usage,
                  "found no value for " + missing + "; needed are values for " + all);
}

execute::GlobalTensors given_of(const Graph& graph, const nb::dict& inputs) {
  execute::GlobalTensors out;
  for (const auto& [key, value] : inputs) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    const Input* input = input_named(graph, name);
    if (!input) throw UserError(ErrorKind::usage, no_input(graph, name));
    const DTypeKind dtype = input->type.dtype.kind;
    if (!input->type.is_list()) {
      out[name] = tensor_of(name, value, dtype);
      continue;
    }
    if (!nb::isinstance<nb::list>(value) && !nb::isinstance<nb::tuple>(value)) {
      throw UserError(ErrorKind::data, name + " is a list; needed is a list of arrays");
    }
    std::int64_t next = 0;
    for (const nb::handle member : value) {
      const std::string called = execute::member_name(name, next++);
      out[called] = tensor_of(called, member, dtype);
    }
  }
  return out;
}

void give_zero_states(const Graph& graph, const interp::Setting& setting,
                      execute::GlobalTensors& given) {
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (!input || input->kind != InputKind::state) continue;
    const DTypeKind dtype = node.type.dtype.kind;
    if (!node.type.is_list()) {
      if (given.contains(node.name)) continue;
      given[node.name] = TensorData::zeros(dtype, interp::global_sizes(node.type, setting));
      continue;
    }
    const std::int64_t members = execute::members_of(node.type, setting.sizes);
    for (std::int64_t k = 0; k < members; ++k) {
      const std::string name = execute::member_name(node.name, k);
      if (given.contains(name)) continue;
      given[name] = TensorData::zeros(dtype, execute::member_shape(node.type, setting, k));
    }
  }
}

}  // namespace coconet::python
