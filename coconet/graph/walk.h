// Walks over a graph, each written once.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"

namespace coconet {

using NodeSet = std::vector<bool>;  // by node index

NodeSet none_of(const Graph& graph);
NodeSet set_of(const Graph& graph, const std::vector<NodeId>& nodes);
std::vector<NodeId> list_of(const NodeSet& set);  // ascending

// readers[i]: the nodes that have node i among their inputs, ascending, each once.
std::vector<std::vector<NodeId>> readers_of(const Graph& graph);
// The dims that have a size for each member of the graph's lists.
std::set<std::string> list_dims(const Graph& graph);
std::vector<std::string> input_names(const Graph& graph);
const Input* input_named(const Graph& graph, const std::string& name);  // null if there is none
// "the program has no input q; its inputs are x, w".
std::string no_input(const Graph& graph, const std::string& name);
bool is_output(const Graph& graph, NodeId id);
// The nodes that depend on / that are needed for any of `of` (of itself included).
NodeSet dependents(const Graph& graph, const NodeSet& of);
NodeSet dependencies(const Graph& graph, const NodeSet& of);
// `ids` and, transitively, their unnamed inputs: a name stands for its whole expression.
NodeSet with_subexpressions(const Graph& graph, const std::vector<NodeId>& ids);
// The innermost group that has the node as a direct member; the group that has the group as a
// member; invalid if none.
GroupId group_of(const Graph& graph, NodeId id);
GroupId group_of(const Graph& graph, GroupId id);

// Shard and root of a replicated value: an index into another value, no value of their own.
bool is_view(const Op& op);
// What `id` is an index into, through any number of views; itself if it is none.
NodeId base_of(const Graph& graph, NodeId id);

}  // namespace coconet
