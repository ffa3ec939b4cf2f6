#include "coconet/schedule/overlap.h"

#include <algorithm>
#include <optional>

#include "coconet/schedule/chunking.h"
#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/region.h"

namespace coconet {
namespace {

std::string called(const Graph& graph, const OverlapMember& member) {
  if (member.group.valid()) return "`" + graph.group(member.group).name + "`";
  return quoted(graph, member.node);
}

NodeSet nodes_of(const Graph& graph, const OverlapMember& member) {
  if (member.group.valid()) return nodes_of(graph, member.group);
  return with_subexpressions(graph, {member.node});
}

std::optional<Refusal> refuse_member(const Graph& graph, const OverlapMember& member) {
  if (member.group.valid()) {
    const GroupId around = group_of(graph, member.group);
    if (around.valid()) {
      return Refusal{called(graph, member) + " is in the group `" + graph.group(around).name +
                         "` already; give all members to one overlap",
                     {}};
    }
    if (graph.group(member.group).kind == GroupKind::overlapped) {
      return Refusal{called(graph, member) +
                         " is overlapped itself; give all members to one "
                         "overlap",
                     {}};
    }
    return std::nullopt;
  }
  if (op_as<Input>(graph, member.node)) {
    return Refusal{quoted(graph, member.node) + " is an input; there is nothing to run",
                   member.node};
  }
  const GroupId group = outermost_group(graph, member.node);
  if (!group.valid()) return std::nullopt;
  return Refusal{quoted(graph, member.node) + " is in the group `" + graph.group(group).name +
                     "`; overlap the group",
                 member.node};
}

// The first value of `from` that `to` reads.
NodeId link(const Graph& graph, const NodeSet& from, const NodeSet& to) {
  for (NodeId id : list_of(to)) {
    for (NodeId input : graph.node(id).inputs) {
      if (from[input.index] && !to[input.index]) return input;
    }
  }
  return {};
}

std::optional<Refusal> refuse_chain(const Graph& graph, const std::vector<OverlapMember>& members,
                                    const NodeSet* chunked) {
  for (std::size_t k = 1; k < members.size(); ++k) {
    const NodeSet from = nodes_of(graph, members[k - 1]);
    const NodeSet to = nodes_of(graph, members[k]);
    const std::string a = called(graph, members[k - 1]);
    const std::string b = called(graph, members[k]);
    NodeSet passed = from;
    if (chunked) {
      for (int i = 0; i < graph.size(); ++i) passed[i] = passed[i] && (*chunked)[i];
    }
    if (link(graph, passed, to).valid()) continue;
    if (chunked) return Refusal{b + " reads no value of " + a + " chunk by chunk", {}};
    if (link(graph, to, from).valid()) {
      return Refusal{"wrong order: " + a + " reads " + b + "; give the producer first", {}};
    }
    return Refusal{b + " reads nothing of " + a + "; overlap takes a producer, then what reads it",
                   {}};
  }
  return std::nullopt;
}

}  // namespace

Verdict<OverlapMatch> match_overlap(const Graph& graph, const std::vector<OverlapMember>& members) {
  if (members.size() < 2) {
    return Refusal{"overlap needs a producer and a consumer, or more in a chain", {}};
  }
  OverlapMatch match;
  NodeSet all = none_of(graph);
  for (const OverlapMember& member : members) {
    if (auto refusal = refuse_member(graph, member)) return *refusal;
    for (NodeId id : list_of(nodes_of(graph, member))) {
      if (all[id.index]) return Refusal{called(graph, member) + " is given twice", id};
      all[id.index] = true;
      if (!member.group.valid()) match.nodes.push_back(id);
    }
    if (member.group.valid()) match.groups.push_back(member.group);
  }
  if (auto refusal = refuse_chain(graph, members, nullptr)) return *refusal;
  NodeSet chunked;
  auto slice = chunk_slice(graph, all, &chunked);
  if (const Refusal* refusal = std::get_if<Refusal>(&slice)) return *refusal;
  if (auto refusal = refuse_chain(graph, members, &chunked)) return *refusal;
  const std::vector<NodeId> path = cycle_through(graph, all);
  if (!path.empty()) {
    return Refusal{"the members are not closed: the path " + path_text(graph, path) +
                       " leaves them and returns",
                   path[1]};
  }
  match.slice = std::get<Slice>(slice);
  std::ranges::sort(match.nodes);
  std::ranges::sort(match.groups);
  return match;
}

Rewrite overlap(const Graph& graph, const OverlapMatch& match, std::string_view name) {
  Rebuild rebuild(graph);
  for (int i = 0; i < graph.size(); ++i) rebuild.copy({i});
  Group group;
  group.kind = GroupKind::overlapped;
  group.name = rebuild.fresh(name);
  group.nodes = match.nodes;
  group.groups = match.groups;
  return std::move(rebuild).finish({{{}, GroupId{0}, false}}, &group);
}

Slice chunk_slice_of(const Graph& graph, GroupId overlapped) {
  auto slice = chunk_slice(graph, nodes_of(graph, overlapped));
  check(std::holds_alternative<Slice>(slice), "an overlapped group has a slice of chunks");
  return std::get<Slice>(slice);
}

}  // namespace coconet
