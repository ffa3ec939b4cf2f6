#include "coconet/gradient/gradient.h"

#include <algorithm>
#include <set>

#include "coconet/base/error.h"
#include "coconet/gradient/derivation.h"
#include "coconet/graph/walk.h"

namespace coconet {
namespace {

using gradients::Derivation;

bool is_floating_tensor(const Node& node) {
  const Input* input = std::get_if<Input>(&node.op);
  return input && input->kind == InputKind::tensor && is_floating(node.type.dtype.kind);
}

std::set<std::string> wanted_inputs(const Graph& program, const GradientOptions& options) {
  std::set<std::string> all;
  for (const Node& node : program.nodes()) {
    if (is_floating_tensor(node)) all.insert(node.name);
  }
  if (options.inputs.empty()) return all;
  for (const std::string& name : options.inputs) {
    if (all.contains(name)) continue;
    std::string legal;
    for (const std::string& each : all) legal += (legal.empty() ? "" : ", ") + each;
    throw UserError(ErrorKind::usage, "there is no gradient by " + name +
                                          "; there may be one by the floating tensors that are "
                                          "inputs: " +
                                          legal);
  }
  return {options.inputs.begin(), options.inputs.end()};
}

// "d_x", which the program must leave free.
std::string gradient_name(const Graph& program, const std::string& of, const Where& where) {
  const std::string name = "d_" + of;
  const bool output =
      std::ranges::find(program.outputs(), name, &Output::name) != program.outputs().end();
  if (!output && !program.find(name).valid()) return name;
  throw UserError(ErrorKind::usage,
                  "found a value named " + name + " in " + program.header().program +
                      "; that is the name of the gradient by " + of + ": give it another",
                  where);
}

// d_y of the output y: where its gradient lies.
NodeId gradient_input(Derivation& d, const Output& output) {
  const Node& node = d.program().node(output.node);
  Input input{InputKind::tensor, node.type, {}};
  input.type.layout = gradients::layout_of_gradient(node.type.layout);
  return d.builder().add(input, {}, gradient_name(d.program(), output.name, node.where),
                         node.where);
}

// UserError for what no rule is for, wherever it stands.
void need_rules(const Derivation& d) {
  for (int i = 0; i < d.program().size(); ++i) {
    const Node& node = d.program().node(NodeId{i});
    if (std::holds_alternative<Update>(node.op)) {
      gradients::no_rule(d, NodeId{i},
                         "it writes a state or input; legal are programs that do not");
    }
    if (node.type.is_list()) {
      gradients::no_rule(d, NodeId{i}, "lists have none in this version; legal are tensors");
    }
  }
}

bool differentiable(const Node& node) {
  return is_floating(node.type.dtype.kind) && !std::holds_alternative<Constant>(node.op);
}

// The nodes that depend on a wanted input by floating values.
NodeSet dependent_on(const Graph& program, const std::set<std::string>& inputs) {
  NodeSet out = none_of(program);
  for (int i = 0; i < program.size(); ++i) {
    const Node& node = program.node(NodeId{i});
    const bool reached = std::ranges::any_of(node.inputs, [&](NodeId input) {
      return bool(out[static_cast<std::size_t>(input.index)]);
    });
    const bool start = is_floating_tensor(node) && inputs.contains(node.name);
    out[static_cast<std::size_t>(i)] = start || (reached && differentiable(node));
  }
  return out;
}

}  // namespace

std::vector<std::string> differentiable_inputs(const Graph& program) {
  std::vector<std::string> out;
  for (const Node& node : program.nodes()) {
    if (!is_floating_tensor(node)) continue;
    const NodeSet reached = dependent_on(program, {node.name});
    const bool any = std::ranges::any_of(program.outputs(), [&](const Output& output) {
      return bool(reached[static_cast<std::size_t>(output.node.index)]);
    });
    if (any) out.push_back(node.name);
  }
  return out;
}

Graph gradient(const Graph& program, const GradientOptions& options) {
  const std::set<std::string> inputs = wanted_inputs(program, options);
  Header header = program.header();
  header.program += "_gradient";
  Derivation d(program, std::move(header));
  need_rules(d);
  d.want(dependent_on(program, inputs));
  for (int i = 0; i < program.size(); ++i) {
    if (std::holds_alternative<Input>(program.node(NodeId{i}).op)) d.value(NodeId{i});
  }
  for (const Output& output : program.outputs()) {
    if (d.wanted(output.node)) d.contribute(output.node, gradient_input(d, output));
  }
  for (int i = program.size() - 1; i >= 0; --i) {
    const NodeId id{i};
    const Op& op = program.node(id).op;
    if (!d.wanted(id) || std::holds_alternative<Input>(op)) continue;
    d.at(id);
    // What is moved need not be settled first, so that all_gather becomes reduce_scatter.
    const bool raw = std::holds_alternative<AllGather>(op);
    const std::optional<NodeId> dy = raw ? d.raw(id) : d.settled(id);
    if (dy) gradients::derive(d, id, *dy);
  }
  bool any = false;
  for (int i = 0; i < program.size(); ++i) {
    const Node& node = program.node(NodeId{i});
    if (!is_floating_tensor(node) || !inputs.contains(node.name)) continue;
    d.at(NodeId{i});
    if (const std::optional<NodeId> dx = d.settled(NodeId{i})) {
      d.builder().add_output(gradient_name(program, node.name, node.where), *dx);
      any = true;
    }
  }
  if (!any) {
    throw UserError(ErrorKind::usage, "the outputs of " + program.header().program +
                                          " depend on none of the inputs whose gradients are "
                                          "wanted");
  }
  return std::move(d.builder()).finish();
}

}  // namespace coconet
