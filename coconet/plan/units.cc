#include "coconet/plan/units.h"

#include <algorithm>
#include <set>

#include "coconet/graph/walk.h"

namespace coconet::plan {
namespace {

bool is_leaf(const Op& op) { return std::holds_alternative<Input>(op) || is_literal(op); }

// What must come before what, between node indices.
std::vector<std::vector<int>> edges_of(const Graph& graph) {
  std::vector<std::vector<int>> after(graph.size());
  const auto readers = readers_of(graph);
  for (int i = 0; i < graph.size(); ++i) {
    for (NodeId reader : readers[i]) after[i].push_back(reader.index);
  }
  for (int u = 0; u < graph.size(); ++u) {
    const Node& update = graph.nodes()[u];
    if (!std::holds_alternative<Update>(update.op)) continue;
    const auto add_readers = [&](const auto& self, NodeId of) -> void {
      for (NodeId reader : readers[of.index]) {
        if (is_view(graph.node(reader).op)) {
          self(self, reader);
        } else if (reader.index != u) {
          after[reader.index].push_back(u);
        }
      }
    };
    add_readers(add_readers, update.inputs[0]);
  }
  return after;
}

// Orders clusters (sets of node indices) by the edges between them; of those that are free, the one
// with the least node first.
std::vector<int> order_clusters(const std::vector<int>& cluster_of, int clusters,
                                const std::vector<std::vector<int>>& after) {
  std::vector<std::set<int>> next(clusters);
  std::vector<int> waiting(clusters, 0), least(clusters, -1);
  for (int i = 0; i < static_cast<int>(cluster_of.size()); ++i) {
    const int from = cluster_of[i];
    if (from < 0) continue;
    if (least[from] < 0) least[from] = i;
    for (int j : after[i]) {
      const int to = cluster_of[j];
      if (to >= 0 && to != from && next[from].insert(to).second) ++waiting[to];
    }
  }
  std::set<std::pair<int, int>> free;
  for (int c = 0; c < clusters; ++c) {
    if (waiting[c] == 0 && least[c] >= 0) free.insert({least[c], c});
  }
  std::vector<int> out;
  while (!free.empty()) {
    const int c = free.begin()->second;
    free.erase(free.begin());
    out.push_back(c);
    for (int to : next[c]) {
      if (--waiting[to] == 0) free.insert({least[to], to});
    }
  }
  return out;
}

GroupId outermost(const Graph& graph, GroupId group) {
  while (group.valid() && group_of(graph, group).valid()) group = group_of(graph, group);
  return group;
}

// The group that the node runs in: its own, or that of the named value that contains it.
std::vector<GroupId> innermost_groups(const Graph& graph) {
  std::vector<GroupId> out(graph.size());
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    for (NodeId id : list_of(with_subexpressions(graph, graph.groups()[g].nodes))) {
      out[id.index] = GroupId{g};
    }
  }
  return out;
}

}  // namespace

std::vector<Unit> units_of(const Graph& graph) {
  const auto after = edges_of(graph);
  const std::vector<GroupId> inner = innermost_groups(graph);
  // Members: one per fused group, one per other node. Units: one per outermost group, one per other
  // node.
  std::vector<int> member_of(graph.size(), -1), unit_of(graph.size(), -1);
  std::vector<Member> members;
  std::vector<Unit> units;
  std::vector<int> fused_member(graph.groups().size(), -1), group_unit(graph.groups().size(), -1);
  for (int i = 0; i < graph.size(); ++i) {
    if (is_leaf(graph.nodes()[i].op)) continue;
    const GroupId group = inner[i];
    const bool fused = group.valid() && graph.group(group).kind == GroupKind::fused;
    int& member = fused ? fused_member[group.index] : member_of[i];
    if (member < 0) {
      member = static_cast<int>(members.size());
      members.push_back({{}, fused ? group : GroupId{}});
    }
    member_of[i] = member;
    members[member].nodes.push_back(NodeId{i});
    const GroupId outer = outermost(graph, group);
    int& unit = outer.valid() ? group_unit[outer.index] : unit_of[i];
    if (unit < 0) {
      unit = static_cast<int>(units.size());
      const bool overlapped = outer.valid() && graph.group(outer).kind == GroupKind::overlapped;
      units.push_back({{}, overlapped ? outer : GroupId{}});
    }
    unit_of[i] = unit;
  }
  const auto unit_order = order_clusters(unit_of, static_cast<int>(units.size()), after);
  const auto member_order = order_clusters(member_of, static_cast<int>(members.size()), after);
  check(unit_order.size() == units.size() && member_order.size() == members.size(),
        "groups and updates leave an order of execution");
  for (int m : member_order) {
    units[unit_of[members[m].nodes.front().index]].members.push_back(members[m]);
  }
  std::vector<Unit> out;
  for (int u : unit_order) out.push_back(std::move(units[u]));
  return out;
}

}  // namespace coconet::plan
