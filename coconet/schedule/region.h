// Sets of nodes that a step moves or joins: what closes them, what keeps them from being closed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/graph/walk.h"
#include "coconet/schedule/rewrite.h"

namespace coconet {

// What messages call nodes.
std::string type_text(const Graph& graph, NodeId id);  // "`rs`, which is f16[B,S,H] sliced(0)"
std::string quoted(const Graph& graph, NodeId id);     // "`rs`", "'+' in `drop`"
std::string quoted(const Graph& graph, const std::vector<NodeId>& ids);  // "`a`, `b`"

// A path that leaves `set` and returns to it, along the values that nodes read: its first and last
// nodes are in the set, the others are not. Empty if the set is convex.
std::vector<NodeId> open_path(const Graph& graph, const NodeSet& set);

// As open_path, but of what runs as one: a path may pass through another group, from any member to
// any other, and goes from each reader of a storage's old value to the update that overwrites it.
// Groups whose nodes are all in `set` count as part of it.
std::vector<NodeId> cycle_through(const Graph& graph, const NodeSet& set);

// Why the set cannot run as one launch, by these two.
std::optional<Refusal> refuse_cycle(const Graph& graph, const NodeSet& set);

std::string path_text(const Graph& graph, const std::vector<NodeId>& path);  // "`a` -> `b` -> `c`"

// All nodes of a group and of its member groups, with their unnamed sub-expressions.
NodeSet nodes_of(const Graph& graph, GroupId group);
// The outermost group that holds the node or, if it is unnamed, the named value that contains it.
GroupId outermost_group(const Graph& graph, NodeId id);
// The named node that contains `id`: itself if it has a name.
NodeId named_value(const Graph& graph, NodeId id);
// What to do about an unnamed all_reduce that a step would need to name: "give it a name in the
// program", or how to do without it if a reorder made it of a reduction over slices.
std::string unnamed_reduce_advice(const Graph& graph, NodeId all_reduce);
// Named members only, ascending.
std::vector<NodeId> named_nodes(const Graph& graph, const NodeSet& set);

// The refusal if one of `ids` is in a group ("do it before `fuse`"), else nothing.
std::optional<Refusal> refuse_grouped(const Graph& graph, const std::vector<NodeId>& ids);

template <class Kind>
const Kind* op_as(const Graph& graph, NodeId id) {
  return std::get_if<Kind>(&graph.node(id).op);
}

}  // namespace coconet
