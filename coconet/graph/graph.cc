#include "coconet/graph/graph.h"

#include <algorithm>

#include "coconet/graph/canonical.h"
#include "coconet/graph/infer.h"
#include "coconet/graph/verify.h"
#include "coconet/graph/walk.h"

namespace coconet {

NodeId Graph::find(std::string_view name) const {
  if (name.empty()) return {};
  for (int i = 0; i < size(); ++i) {
    if (nodes_[i].name == name) return {i};
  }
  return {};
}

GroupId Graph::find_group(std::string_view name) const {
  for (int i = 0; i < static_cast<int>(groups_.size()); ++i) {
    if (groups_[i].name == name) return {i};
  }
  return {};
}

std::string Graph::label(NodeId id) const {
  if (!node(id).name.empty()) return node(id).name;
  const std::string out = "'" + std::string(word_of(node(id).op)) + "'";
  NodeId around = id;
  for (int i = id.index + 1; i < size(); ++i) {
    const std::vector<NodeId>& inputs = nodes_[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), around) == inputs.end()) continue;
    around = {i};
    if (!nodes_[i].name.empty()) return out + " in " + nodes_[i].name;
  }
  return out;
}

bool operator==(const Graph& a, const Graph& b) {
  const auto same_node = [](const Node& x, const Node& y) {
    return x.op == y.op && x.inputs == y.inputs && x.type == y.type && x.name == y.name;
  };
  const auto same_output = [](const Output& x, const Output& y) {
    return x.name == y.name && x.node == y.node;
  };
  const auto same_group = [](const Group& x, const Group& y) {
    return x.kind == y.kind && x.name == y.name && x.nodes == y.nodes && x.groups == y.groups;
  };
  return a.header() == b.header() && std::ranges::equal(a.nodes(), b.nodes(), same_node) &&
         std::ranges::equal(a.outputs(), b.outputs(), same_output) &&
         std::ranges::equal(a.groups(), b.groups(), same_group);
}

GraphBuilder::GraphBuilder(Header header) {
  verify_mesh(header.mesh);
  graph_.header_ = std::move(header);
}

namespace {

[[noreturn]] void refuse_taken(const std::string& name, const Where& where) {
  throw UserError(ErrorKind::type,
                  "the name " + name +
                      " is taken; a name denotes one value, so give this one a "
                      "name of its own",
                  where);
}

}  // namespace

NodeId GraphBuilder::add(Op op, std::vector<NodeId> inputs, std::string name, Where where) {
  if (!name.empty() && has_name(name)) refuse_taken(name, where);
  check(!name.empty() || !std::holds_alternative<Input>(op), "an input has a name");
  std::vector<TensorType> types;
  for (NodeId input : inputs) {
    check(input.valid() && input.index < size(), "operands stand before their readers");
    types.push_back(type(input));
  }
  try {
    TensorType type = infer(op, types, mesh(), header().requirements);
    graph_.nodes_.push_back(
        {std::move(op), std::move(inputs), std::move(type), "", std::move(where)});
  } catch (const UserError& error) {
    throw error.at(where);
  }
  const NodeId id{size() - 1};
  if (!name.empty()) give_name(id, std::move(name));
  return id;
}

void GraphBuilder::give_name(NodeId id, std::string name) {
  named_.emplace(name, id);
  graph_.nodes_[id.index].name = std::move(name);
}

NodeId GraphBuilder::find(std::string_view name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? NodeId{} : found->second;
}

void GraphBuilder::set_name(NodeId id, std::string name) {
  const Node& named = node(id);
  check(named.name.empty() && !name.empty(), "a node without a name gets one");
  const auto output = outputs_.find(name);
  const bool other_output = output != outputs_.end() && output->second != id;
  if (other_output || find(name).valid() || group_names_.contains(name))
    refuse_taken(name, named.where);
  give_name(id, std::move(name));
}

bool GraphBuilder::has_name(std::string_view name) const {
  return named_.contains(name) || group_names_.contains(name) || outputs_.contains(name);
}

std::string GraphBuilder::fresh_name(std::string_view wanted) const {
  const Header& header = graph_.header_;
  const auto has = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  const auto taken = [&](const std::string& name) {
    const auto is_name = [&](const DTypeParameter& dtype) { return dtype.name == name; };
    return has_name(name) || has(header.dims, name) || has(header.mesh.axes, name) ||
           std::any_of(header.dtypes.begin(), header.dtypes.end(), is_name);
  };
  // Names may end in quotes only, so the number stands before them.
  const std::size_t quotes = wanted.find('\'');
  const std::string stem(wanted.substr(0, quotes));
  const std::string tail(quotes == std::string_view::npos ? "" : wanted.substr(quotes));
  std::string name(wanted);
  int& least = least_number_.try_emplace(name, 2).first->second;
  for (int number = least; taken(name); ++number) {
    name = stem + std::to_string(number) + tail;
    least = number;
  }
  return name;
}

void GraphBuilder::add_output(std::string name, NodeId node) {
  check(node.valid() && node.index < size(), "an output is a node of the graph");
  const NodeId namesake = find(name);
  if (outputs_.contains(name) || (namesake.valid() && namesake != node) ||
      group_names_.contains(name)) {
    refuse_taken(name, graph_.node(node).where);
  }
  outputs_.emplace(name, node);
  graph_.outputs_.push_back({std::move(name), node});
}

GroupId GraphBuilder::add_group(Group group) {
  check(!group.name.empty(), "a group has a name");
  if (has_name(group.name)) refuse_taken(group.name, group.where);
  for (NodeId id : group.nodes) check(id.valid() && id.index < size(), "a group's node exists");
  for (GroupId id : group.groups) {
    check(id.valid() && id.index < static_cast<int>(graph_.groups_.size()),
          "a group's member group exists");
  }
  std::sort(group.nodes.begin(), group.nodes.end());
  std::sort(group.groups.begin(), group.groups.end());
  group_names_.insert(group.name);
  graph_.groups_.push_back(std::move(group));
  return {static_cast<int>(graph_.groups_.size()) - 1};
}

namespace {

// What must stay in the graph: what has a name, is an output, a member of a group or an update, and
// all that these need.
NodeSet needed_nodes(const Graph& graph) {
  NodeSet needed = none_of(graph);
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    needed[i] = !node.name.empty() || std::holds_alternative<Update>(node.op);
  }
  for (const Output& output : graph.outputs()) needed[output.node.index] = true;
  for (const Group& group : graph.groups()) {
    for (NodeId id : group.nodes) needed[id.index] = true;
  }
  return dependencies(graph, needed);
}

}  // namespace

void GraphBuilder::name_shared_nodes() {
  for (const Output& output : graph_.outputs_) {
    if (node(output.node).name.empty() && !find(output.name).valid()) {
      set_name(output.node, output.name);
    }
  }
  const NodeSet needed = needed_nodes(graph_);
  std::vector<int> uses(size(), 0);
  std::vector<int> reader(size(), -1);
  for (int i = 0; i < size(); ++i) {
    for (NodeId input : graph_.nodes_[i].inputs) {
      if (!needed[i]) continue;
      ++uses[input.index];
      reader[input.index] = i;
    }
  }
  const auto needs_name = [&](int i) {
    return needed[i] && node({i}).name.empty() && !is_literal(node({i}).op);
  };
  const auto name_it = [this](int i) {
    give_name({i}, fresh_name("t_" + std::string(name_of(node({i}).op))));
  };
  for (int i = 0; i < size(); ++i) {
    if (needs_name(i) && uses[i] != 1) name_it(i);
  }
  // A member of a group that the group's named members do not contain.
  std::vector<int> group_of_node(size(), -1);
  for (int g = static_cast<int>(graph_.groups_.size()) - 1; g >= 0; --g) {
    for (NodeId id : graph_.groups_[g].nodes) group_of_node[id.index] = g;
  }
  for (int i = size() - 1; i >= 0; --i) {
    if (group_of_node[i] < 0 || !needs_name(i)) continue;
    int around = reader[i];
    while (node({around}).name.empty()) around = reader[around];
    if (group_of_node[around] != group_of_node[i]) name_it(i);
  }
}

Graph GraphBuilder::finish(std::vector<NodeId>* forward, std::vector<GroupId>* forward_groups) && {
  name_shared_nodes();
  verify_updates(graph_);
  verify_lists(graph_);
  const CanonicalOrder order = canonical_order(graph_);
  Graph out;
  out.header_ = graph_.header_;
  std::vector<NodeId> to(size());
  for (const CanonicalOrder::Place& place : order.nodes) {
    Node node = graph_.node(place.from);
    node.inputs = place.inputs;
    if (!to[place.from.index].valid()) to[place.from.index] = {out.size()};
    out.nodes_.push_back(std::move(node));
  }
  for (const Output& output : graph_.outputs_) {
    out.outputs_.push_back({output.name, to[output.node.index]});
  }
  std::vector<GroupId> to_groups(graph_.groups_.size());
  for (const CanonicalOrder::GroupPlace& place : order.groups) {
    Group group = graph_.group(place.from);
    group.nodes = place.nodes;
    for (GroupId& member : group.groups) member = to_groups[member.index];
    std::sort(group.groups.begin(), group.groups.end());
    to_groups[place.from.index] = {static_cast<int>(out.groups_.size())};
    out.groups_.push_back(std::move(group));
  }
  if (forward) *forward = std::move(to);
  if (forward_groups) *forward_groups = std::move(to_groups);
  verify(out);
  return out;
}

}  // namespace coconet
