#include "coconet/schedule/rebuild.h"

#include <algorithm>

#include "coconet/graph/expand.h"

namespace coconet {

Rebuild::Rebuild(const Graph& before)
    : before_(before),
      builder_(before.header()),
      at_(before.size()),
      forward_(before.size()),
      returned_(before.size()) {}

NodeId Rebuild::at(NodeId id) const {
  const NodeId now = at_.at(id.index);
  check(now.valid(), "a rebuilt operand stands before its readers");
  return now;
}

std::vector<NodeId> Rebuild::inputs_of(NodeId id) const {
  std::vector<NodeId> inputs;
  for (NodeId input : before_.node(id).inputs) inputs.push_back(at(input));
  return inputs;
}

NodeId Rebuild::copy(NodeId id) {
  const Node& node = before_.node(id);
  const NodeId now = builder_.add(node.op, inputs_of(id), node.name, node.where);
  replace(id, now);
  return now;
}

std::string Rebuild::fresh(std::string_view wanted) const {
  // Names may end in quotes only: all else, and a number, stands before them.
  std::string stem(wanted), tail;
  tail.assign(std::erase(stem, '\''), '\'');
  const auto taken = [this](const std::string& name) {
    const auto is_name = [&](const Output& output) { return output.name == name; };
    return builder_.fresh_name(name) != name || before_.find(name).valid() ||
           before_.find_group(name).valid() || std::ranges::any_of(before_.outputs(), is_name);
  };
  std::string name = stem + tail;
  for (int number = 2; taken(name); ++number) name = stem + std::to_string(number) + tail;
  return name;
}

NodeId Rebuild::add(Op op, std::vector<NodeId> inputs, std::string_view name, const Where& where) {
  return add_visible(builder_, std::move(op), std::move(inputs),
                     name.empty() ? std::string() : fresh(name), where);
}

void Rebuild::replace(NodeId id, NodeId now) {
  at_.at(id.index) = now;
  forward_.at(id.index) = now;
}

void Rebuild::forward(NodeId id, NodeId now) { forward_.at(id.index) = now; }

void Rebuild::returns(NodeId id, NodeId now) { returned_.at(id.index) = now; }

void Rebuild::copy_group(const Group& group) {
  Group copied = group;
  copied.nodes.clear();
  for (NodeId id : group.nodes) {
    if (at_.at(id.index).valid()) copied.nodes.push_back(at(id));
  }
  builder_.add_group(std::move(copied));
}

Rewrite Rebuild::finish(std::vector<Rewrite::Result> results, const Group* group) && {
  for (const Output& output : before_.outputs()) {
    const NodeId returned = returned_.at(output.node.index);
    builder_.add_output(output.name, returned.valid() ? returned : at(output.node));
  }
  for (const Group& old : before_.groups()) copy_group(old);
  if (group) copy_group(*group);
  std::vector<NodeId> nodes;
  std::vector<GroupId> groups;
  Rewrite out{std::move(builder_).finish(&nodes, &groups), forward_, {}, std::move(results), {}};
  for (NodeId& id : out.forward) {
    if (id.valid()) id = nodes.at(id.index);
  }
  for (Rewrite::Result& result : out.results) {
    for (NodeId& id : result.nodes) id = nodes.at(id.index);
    if (result.group.valid()) result.group = groups.back();
  }
  if (group) groups.pop_back();
  out.forward_groups = std::move(groups);
  return out;
}

namespace {

// Names of nodes after a renaming, by index.
std::vector<std::string> names_of(const Graph& graph, const Renaming& renaming) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  for (const auto& [id, name] : renaming.nodes) names.at(id.index) = name;
  return names;
}

}  // namespace

Rewrite rename(const Rewrite& rewrite, const Renaming& renaming) {
  const Graph& graph = rewrite.graph;
  GraphBuilder builder(graph.header());
  const std::vector<std::string> names = names_of(graph, renaming);
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    builder.add(node.op, node.inputs, names[i], node.where);
  }
  for (const Output& output : graph.outputs()) builder.add_output(output.name, output.node);
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    Group group = graph.group({g});
    for (const auto& [id, name] : renaming.groups) {
      if (id.index == g) group.name = name;
    }
    builder.add_group(std::move(group));
  }
  std::vector<NodeId> nodes;
  std::vector<GroupId> groups;
  Rewrite out{std::move(builder).finish(&nodes, &groups), rewrite.forward, rewrite.forward_groups,
              rewrite.results, rewrite.exactness};
  for (NodeId& id : out.forward) {
    if (id.valid()) id = nodes.at(id.index);
  }
  for (GroupId& id : out.forward_groups) {
    if (id.valid()) id = groups.at(id.index);
  }
  for (Rewrite::Result& result : out.results) {
    for (NodeId& id : result.nodes) id = nodes.at(id.index);
    if (result.group.valid()) result.group = groups.at(result.group.index);
  }
  return out;
}

}  // namespace coconet
