#include "coconet/graph/walk.h"

#include <algorithm>

#include "coconet/base/nearest.h"
#include "coconet/type/list.h"

namespace coconet {

NodeSet none_of(const Graph& graph) { return NodeSet(graph.size(), false); }

NodeSet set_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  NodeSet set = none_of(graph);
  for (NodeId id : nodes) set.at(id.index) = true;
  return set;
}

std::vector<NodeId> list_of(const NodeSet& set) {
  std::vector<NodeId> out;
  for (int i = 0; i < static_cast<int>(set.size()); ++i) {
    if (set[i]) out.push_back({i});
  }
  return out;
}

std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.size());
  for (int i = 0; i < graph.size(); ++i) {
    for (NodeId input : graph.node({i}).inputs) {
      std::vector<NodeId>& list = readers[input.index];
      if (list.empty() || list.back() != NodeId{i}) list.push_back({i});
    }
  }
  return readers;
}

std::set<std::string> list_dims(const Graph& graph) {
  std::set<std::string> out;
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (!input || !input->type.is_list()) continue;
    for (const Dim& dim : *input->type.list) {
      for (const std::string& name : dim.names()) {
        if (!list_index(name).empty()) out.insert(name);
      }
    }
  }
  return out;
}

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) {
    if (std::holds_alternative<Input>(node.op)) out.push_back(node.name);
  }
  return out;
}

const Input* input_named(const Graph& graph, const std::string& name) {
  const NodeId id = graph.find(name);
  return id.valid() ? std::get_if<Input>(&graph.node(id).op) : nullptr;
}

std::string no_input(const Graph& graph, const std::string& name) {
  const std::vector<std::string> names = input_names(graph);
  return "the program has no input " + name + suggestion(name, names) + "; its inputs are " +
         listed(names);
}

bool is_output(const Graph& graph, NodeId id) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [id](const Output& output) { return output.node == id; });
}

NodeSet dependents(const Graph& graph, const NodeSet& of) {
  NodeSet set = of;
  for (int i = 0; i < graph.size(); ++i) {
    for (NodeId input : graph.node({i}).inputs) {
      if (set[input.index]) set[i] = true;
    }
  }
  return set;
}

NodeSet dependencies(const Graph& graph, const NodeSet& of) {
  NodeSet set = of;
  for (int i = graph.size() - 1; i >= 0; --i) {
    if (!set[i]) continue;
    for (NodeId input : graph.node({i}).inputs) set[input.index] = true;
  }
  return set;
}

NodeSet with_subexpressions(const Graph& graph, const std::vector<NodeId>& ids) {
  NodeSet set = set_of(graph, ids);
  for (int i = graph.size() - 1; i >= 0; --i) {
    if (!set[i]) continue;
    for (NodeId input : graph.node({i}).inputs) {
      if (graph.node(input).name.empty()) set[input.index] = true;
    }
  }
  return set;
}

GroupId group_of(const Graph& graph, NodeId id) {
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    const std::vector<NodeId>& nodes = graph.group({g}).nodes;
    if (std::find(nodes.begin(), nodes.end(), id) != nodes.end()) return {g};
  }
  return {};
}

GroupId group_of(const Graph& graph, GroupId id) {
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    const std::vector<GroupId>& groups = graph.group({g}).groups;
    if (std::find(groups.begin(), groups.end(), id) != groups.end()) return {g};
  }
  return {};
}

bool is_view(const Op& op) {
  return std::holds_alternative<Shard>(op) || std::holds_alternative<RootOf>(op);
}

NodeId base_of(const Graph& graph, NodeId id) {
  while (is_view(graph.node(id).op)) id = graph.node(id).inputs[0];
  return id;
}

}  // namespace coconet
