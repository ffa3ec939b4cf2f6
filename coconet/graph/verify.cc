#include "coconet/graph/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include "coconet/graph/infer.h"
#include "coconet/graph/walk.h"
#include "coconet/type/list.h"

namespace coconet {
namespace {

void verify_nodes(const Graph& graph) {
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    std::vector<TensorType> types;
    for (NodeId input : node.inputs) {
      check(input.valid() && input.index < i, "inputs stand before their readers");
      types.push_back(graph.node(input).type);
    }
    check(infer(node.op, types, graph.mesh(), graph.header().requirements) == node.type,
          "every type is what inference gives");
  }
}

// The plan performs nodes in this order, so it writes storage only after its old value is read.
void verify_update_order(const Graph& graph) {
  const std::vector<std::vector<NodeId>> readers = readers_of(graph);
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (!std::holds_alternative<Update>(node.op)) continue;
    const NodeId last = readers[node.inputs[0].index].back();
    if (last.index <= i) continue;
    throw UserError(ErrorKind::type,
                    graph.label({i}) + " overwrites " + graph.label(node.inputs[0]) +
                        ", whose old value " + graph.label(last) +
                        " reads later in the same expression; give what reads it a name (t = ..., "
                        "then t), so that it is computed before",
                    node.where);
  }
}

void verify_names(const Graph& graph) {
  std::map<std::string, NodeId> names;  // of groups: no node
  std::vector<int> uses(graph.size(), 0);
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    for (NodeId input : node.inputs) ++uses[input.index];
    if (!node.name.empty()) check(names.emplace(node.name, NodeId{i}).second, "names are unique");
  }
  for (const Group& group : graph.groups()) {
    check(!group.name.empty() && names.emplace(group.name, NodeId{}).second,
          "names of groups are unique");
  }
  for (int i = 0; i < graph.size(); ++i) {
    check(!graph.node({i}).name.empty() || uses[i] == 1, "an unnamed node has one reader");
  }
  std::set<std::string> outputs;
  for (const Output& output : graph.outputs()) {
    check(outputs.insert(output.name).second, "outputs have names of their own");
    check(output.node.valid() && output.node.index < graph.size(), "an output exists");
    const auto namesake = names.find(output.name);
    check(namesake == names.end() || namesake->second == output.node, "a name denotes one value");
  }
}

void verify_members(const Graph& graph) {
  std::vector<int> group_of_node(graph.size(), -1);
  std::vector<bool> seen_groups(graph.groups().size(), false);
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    const Group& group = graph.group({g});
    check(!group.nodes.empty() || !group.groups.empty(), "a group has members");
    check(group.groups.empty() || group.kind == GroupKind::overlapped,
          "only an overlapped group holds groups");
    for (NodeId id : group.nodes) {
      check(id.valid() && id.index < graph.size(), "members of a group exist");
      check(group_of_node[id.index] < 0, "a node is in one group at most");
      check(!std::holds_alternative<Input>(graph.node(id).op), "an input is in no group");
      group_of_node[id.index] = g;
    }
    for (GroupId id : group.groups) {
      check(id.valid() && id.index < g, "member groups stand before the group");
      check(!seen_groups[id.index], "a group is in one group at most");
      seen_groups[id.index] = true;
    }
    check(std::is_sorted(group.nodes.begin(), group.nodes.end()), "members ascend");
    for (NodeId id : group.nodes) {
      for (NodeId input : graph.node(id).inputs) {
        check(!graph.node(input).name.empty() || group_of_node[input.index] == g,
              "a group has its members' unnamed sub-expressions");
      }
    }
  }
}

// In canonical order the members of a group are one run of nodes; as operands stand before their
// readers, no path leaves a run and returns, and runs are in no cycle.
void verify_groups(const Graph& graph) {
  struct Run {
    int first, last, count;
  };
  std::vector<Run> runs;
  for (const Group& group : graph.groups()) {
    Run run{graph.size(), -1, 0};
    const auto extend = [&run](const Run& by) {
      run = {std::min(run.first, by.first), std::max(run.last, by.last), run.count + by.count};
    };
    for (NodeId id : group.nodes) extend({id.index, id.index, 1});
    for (GroupId inner : group.groups) extend(runs[inner.index]);
    check(run.last - run.first + 1 == run.count,
          "the members of a group stand together, so it is convex");
    runs.push_back(run);
  }
}

// Whether a node behind `place` reads the storage, itself or through views.
bool read_after(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, NodeId storage,
                int place) {
  return std::any_of(
      readers[storage.index].begin(), readers[storage.index].end(), [&](NodeId reader) {
        return reader.index > place ||
               (is_view(graph.node(reader).op) && read_after(graph, readers, reader, place));
      });
}

}  // namespace

void verify_updates(const Graph& graph) {
  std::vector<int> update_of(graph.size(), -1);
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (!std::holds_alternative<Update>(node.op)) continue;
    const NodeId storage = node.inputs[0];
    const Node& target = graph.node(storage);
    const Input* input = std::get_if<Input>(&target.op);
    if (!input || input->kind == InputKind::scalar) {
      throw UserError(ErrorKind::type,
                      graph.label({i}) + " updates " + graph.label(storage) +
                          ", which is no storage; only an input or a state can be updated",
                      node.where);
    }
    if (update_of[storage.index] >= 0) {
      throw UserError(ErrorKind::type,
                      target.name + " is updated twice, by " +
                          graph.label({update_of[storage.index]}) + " and by " + graph.label({i}) +
                          "; storage has one update: compute the last value and update once",
                      node.where);
    }
    update_of[storage.index] = i;
  }
  const std::vector<std::vector<NodeId>> readers = readers_of(graph);
  for (int s = 0; s < graph.size(); ++s) {
    if (update_of[s] < 0 || !read_after(graph, readers, NodeId{s}, update_of[s])) continue;
    NodeSet late = dependents(graph, set_of(graph, {NodeId{update_of[s]}}));
    NodeSet old = set_of(graph, {NodeId{s}});  // and views of it
    for (int i = s + 1; i < graph.size(); ++i) {
      const Node& node = graph.node({i});
      const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](NodeId input) { return old[input.index]; });
      old[i] = reads && is_view(node.op);
      if (!late[i] || i == update_of[s] || !reads) continue;
      const std::string update = graph.label({update_of[s]});
      throw UserError(ErrorKind::type,
                      graph.label({i}) + " reads the old value of " + graph.node({s}).name +
                          " but depends on its update " + update + ", which overwrites it; read " +
                          update + ", or compute what needs the old value before the update",
                      node.where);
    }
  }
}

namespace {

void note_names(const Shape& shape, const Node& node, std::map<std::string, const Node*>& uses) {
  for (const Dim& dim : shape) {
    if (dim.is_packed()) continue;  // of block sums
    for (const std::string& name : dim.names()) uses.try_emplace(name, &node);
  }
}

// A use of a dim by what is no list.
std::string use_text(const Node& node, const std::string& dim) {
  if (std::holds_alternative<DimSize>(node.op)) return "size(" + dim + ")";
  if (node.name.empty()) return "a " + std::string(name_of(node.op));
  return "`" + node.name + "`, which is no list";
}

}  // namespace

void verify_lists(const Graph& graph) {
  std::map<std::string, const Node*> of_lists, of_others;  // the first use of a dim
  for (const Node& node : graph.nodes()) {
    const bool input = std::holds_alternative<Input>(node.op);
    if (input && node.type.is_list()) note_names(*node.type.list, node, of_lists);
    if (const DimSize* size = std::get_if<DimSize>(&node.op)) {
      note_names({size->dim}, node, of_others);
    }
    if (const Narrow* narrow = std::get_if<Narrow>(&node.op)) {
      note_names({narrow->start}, node, of_others);
    }
    if (!node.type.is_list()) note_names(node.type.shape, node, of_others);
  }
  std::set<std::string> indices;
  for (const auto& [name, node] : of_lists) {
    const std::string index = list_index(name);
    if (index.empty()) continue;
    indices.insert(index);
    const auto other = of_others.find(name);
    if (other == of_others.end()) continue;
    throw UserError(ErrorKind::type,
                    name + " is a dim of the list `" + node->name +
                        "`, with a size for each member, but stands in " +
                        use_text(*other->second, name) +
                        "; needed: a dim of one size; declare another dim",
                    other->second->where);
  }
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Input>(node.op) || !node.type.is_scalar_list()) continue;
    const std::string index = list_index(node.type.shape[0]);
    if (indices.contains(index)) continue;
    throw UserError(ErrorKind::type,
                    "nothing says how many scalars the list `" + node.name +
                        "` has; needed: an input that is a list with a dim over " + index +
                        ", as [N_" + index + "] list",
                    node.where);
  }
}

void verify_mesh(const Mesh& mesh, const Where& where) {
  if (mesh.size() <= kMostAxes) return;
  throw UserError(ErrorKind::type,
                  "the mesh " + mesh.text() + " has " + std::to_string(mesh.size()) +
                      " axes; at most " + std::to_string(kMostAxes) + " are supported",
                  where);
}

void verify(const Graph& graph) {
  verify_nodes(graph);
  verify_names(graph);
  verify_members(graph);
  verify_groups(graph);
  verify_updates(graph);
  verify_lists(graph);
  verify_requirements(graph.header().requirements, graph.mesh());
  verify_update_order(graph);
}

}  // namespace coconet
