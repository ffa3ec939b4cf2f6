#include "coconet/schedule/region.h"

#include <algorithm>
#include <deque>

namespace coconet {

std::string quoted(const Graph& graph, NodeId id) {
  const NodeId named = named_value(graph, id);
  if (named == id) return "`" + graph.node(id).name + "`";
  return graph.label(id);
}

std::string quoted(const Graph& graph, const std::vector<NodeId>& ids) {
  std::string out;
  for (NodeId id : ids) out += (out.empty() ? "" : ", ") + quoted(graph, id);
  return out;
}

std::string type_text(const Graph& graph, NodeId id) {
  return quoted(graph, id) + ", which is " + graph.node(id).type.text(graph.mesh());
}

NodeId named_value(const Graph& graph, NodeId id) {
  NodeId around = id;
  for (int i = id.index; i < graph.size(); ++i) {
    const std::vector<NodeId>& inputs = graph.node({i}).inputs;
    if (i != id.index && std::find(inputs.begin(), inputs.end(), around) == inputs.end()) continue;
    around = {i};
    if (!graph.node(around).name.empty()) return around;
  }
  return id;
}

std::string unnamed_reduce_advice(const Graph& graph, NodeId all_reduce) {
  if (!graph.node(named_value(graph, all_reduce)).name.ends_with("'")) {
    return "name it in the program, as r = all_reduce(...), and split it";
  }
  return "reorder made it of a reduction, whose slices are whole rows; reorder over the slice (*), "
         "as after split(..., (*)), under which a reduction over everything needs no all_reduce";
}

std::vector<NodeId> named_nodes(const Graph& graph, const NodeSet& set) {
  std::vector<NodeId> out;
  for (NodeId id : list_of(set)) {
    if (!graph.node(id).name.empty()) out.push_back(id);
  }
  return out;
}

NodeSet nodes_of(const Graph& graph, GroupId group) {
  NodeSet set = with_subexpressions(graph, graph.group(group).nodes);
  for (GroupId member : graph.group(group).groups) {
    for (NodeId id : list_of(nodes_of(graph, member))) set[id.index] = true;
  }
  return set;
}

GroupId outermost_group(const Graph& graph, NodeId id) {
  GroupId group = group_of(graph, named_value(graph, id));
  while (group.valid() && group_of(graph, group).valid()) group = group_of(graph, group);
  return group;
}

std::optional<Refusal> refuse_grouped(const Graph& graph, const std::vector<NodeId>& ids) {
  for (NodeId id : ids) {
    const GroupId group = group_of(graph, named_value(graph, id));
    if (!group.valid()) continue;
    return Refusal{quoted(graph, id) + " is in the group `" + graph.group(group).name +
                       "`; take this step before the one that made the group",
                   id};
  }
  return std::nullopt;
}

namespace {

using Edges = std::vector<std::vector<int>>;

// A shortest path over nodes from the set's outside successors back into the set.
std::vector<NodeId> path_back(const Edges& after, const NodeSet& set) {
  std::vector<int> from(set.size(), -1);
  std::deque<int> queue;
  for (int i = 0; i < static_cast<int>(set.size()); ++i) {
    if (!set[i]) continue;
    for (int next : after[i]) {
      if (set[next] || from[next] >= 0) continue;
      from[next] = i;
      queue.push_back(next);
    }
  }
  while (!queue.empty()) {
    const int at = queue.front();
    queue.pop_front();
    for (int next : after[at]) {
      if (set[next]) {
        std::vector<NodeId> path{{next}, {at}};
        for (int i = at; !set[i]; i = from[i]) path.push_back({from[i]});
        std::reverse(path.begin(), path.end());
        return path;
      }
      if (from[next] >= 0) continue;
      from[next] = at;
      queue.push_back(next);
    }
  }
  return {};
}

Edges value_edges(const Graph& graph) {
  Edges after(graph.size());
  for (int i = 0; i < graph.size(); ++i) {
    for (NodeId input : graph.node({i}).inputs) after[input.index].push_back(i);
  }
  return after;
}

// From what reads a storage's old value to the update that overwrites it; a shard or root reads
// nothing itself: its readers do.
void add_write_edges(const Graph& graph, Edges& after) {
  const auto readers = readers_of(graph);
  for (int u = 0; u < graph.size(); ++u) {
    if (!op_as<Update>(graph, {u})) continue;
    std::vector<NodeId> old{graph.node({u}).inputs[0]};
    for (std::size_t k = 0; k < old.size(); ++k) {
      for (NodeId reader : readers[old[k].index]) {
        if (reader.index == u) continue;
        after[reader.index].push_back(u);
        if (op_as<Shard>(graph, reader) || op_as<RootOf>(graph, reader)) old.push_back(reader);
      }
    }
  }
}

}  // namespace

std::vector<NodeId> open_path(const Graph& graph, const NodeSet& set) {
  return path_back(value_edges(graph), set);
}

std::vector<NodeId> cycle_through(const Graph& graph, const NodeSet& set) {
  Edges after = value_edges(graph);
  add_write_edges(graph, after);
  // An expression runs with the named value that contains it.
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (!node.name.empty() || is_literal(node.op) || set[i]) continue;
    after[named_value(graph, {i}).index].push_back({i});
  }
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    if (group_of(graph, GroupId{g}).valid()) continue;
    const std::vector<NodeId> members = list_of(nodes_of(graph, {g}));
    const auto inside = [&](NodeId id) { return set[id.index]; };
    if (std::any_of(members.begin(), members.end(), inside)) continue;
    for (NodeId a : members) {
      for (NodeId b : members) {
        if (a != b) after[a.index].push_back(b.index);
      }
    }
  }
  return path_back(after, set);
}

std::optional<Refusal> refuse_cycle(const Graph& graph, const NodeSet& set) {
  std::vector<NodeId> path = open_path(graph, set);
  if (!path.empty()) {
    return Refusal{"the region is open: the path " + path_text(graph, path) +
                       " leaves it and returns; fuse " +
                       quoted(graph, named_value(graph, path[1])) + " as well, or less",
                   path[1]};
  }
  path = cycle_through(graph, set);
  if (path.empty()) return std::nullopt;
  const NodeId last = path.back();
  const NodeId before = path[path.size() - 2];
  const std::vector<NodeId>& read = graph.node(last).inputs;
  if (op_as<Update>(graph, last) && std::ranges::count(read, before) == 0) {
    return Refusal{"use after update: " + quoted(graph, before) + " reads the old value of `" +
                       graph.node(read[0]).name + "`, which " + quoted(graph, last) +
                       " overwrites in the group, but it runs after the group, by " +
                       path_text(graph, path) + "; leave " + quoted(graph, last) + " out",
                   before};
  }
  return Refusal{"a cycle with another group: " + path_text(graph, path), path[1]};
}

std::string path_text(const Graph& graph, const std::vector<NodeId>& path) {
  std::string out;
  NodeId last;
  for (NodeId id : path) {
    const NodeId named = named_value(graph, id);
    if (named == last) continue;
    out += (out.empty() ? "" : " -> ") + std::string("`") + graph.node(named).name + "`";
    last = named;
  }
  return out;
}

}  // namespace coconet
