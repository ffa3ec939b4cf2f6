// The graph: immutable nodes in topological order, the outputs, and the groups that a schedule
// made.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/graph/requirement.h"

namespace coconet {

struct NodeId {
  int index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

struct GroupId {
  int index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(const GroupId&, const GroupId&) = default;
};

// `name` is empty for a sub-expression that its one reader contains.
struct Node {
  Op op;
  std::vector<NodeId> inputs;
  TensorType type;  // inferred
  std::string name;
  Where where;
};

struct Output {
  std::string name;  // the user's, whatever node computes it
  NodeId node;
};

enum class GroupKind { fused, overlapped };

// Nodes that run as one kernel (fused) or chunk by chunk (overlapped). An overlapped group may hold
// fused ones.
struct Group {
  GroupKind kind = GroupKind::fused;
  std::string name;
  std::vector<NodeId> nodes;    // direct members, ascending
  std::vector<GroupId> groups;  // member groups; only of an overlapped group
  Where where;
};

struct DTypeParameter {
  std::string name;
  DTypeKind kind;  // the default, or what it is bound to
  friend bool operator==(const DTypeParameter&, const DTypeParameter&) = default;
};

// What surrounds the nodes: the declarations of a file that a program uses.
struct Header {
  std::string program;
  Mesh mesh;
  std::vector<std::string> dims;  // in order of declaration
  std::vector<DTypeParameter> dtypes;
  std::vector<Requirement> requirements = {};  // in order of declaration
  friend bool operator==(const Header&, const Header&) = default;
};

// A value: copied freely, never changed in place. Made by GraphBuilder.
class Graph {
 public:
  const Header& header() const { return header_; }
  const Mesh& mesh() const { return header_.mesh; }
  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(NodeId id) const { return nodes_.at(id.index); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<Group>& groups() const { return groups_; }
  const Group& group(GroupId id) const { return groups_.at(id.index); }

  // The node or group of that name; invalid if there is none.
  NodeId find(std::string_view name) const;
  GroupId find_group(std::string_view name) const;
  // How a message calls a node: its name, or the operation inside the named value that contains it
  // ("'+' in drop").
  std::string label(NodeId id) const;

 private:
  friend class GraphBuilder;
  Header header_;
  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::vector<Group> groups_;
};

// The same nodes, types, names, outputs and groups (places do not count).
bool operator==(const Graph& a, const Graph& b);

// Makes a graph node by node; an ill-typed node cannot exist.
class GraphBuilder {
 public:
  explicit GraphBuilder(Header header);
  const Header& header() const { return graph_.header_; }
  const Mesh& mesh() const { return graph_.header_.mesh; }
  const Node& node(NodeId id) const { return graph_.node(id); }
  const TensorType& type(NodeId id) const { return graph_.node(id).type; }
  int size() const { return graph_.size(); }
  NodeId find(std::string_view name) const;  // invalid if there is none

  // Infers the type of `op` on `inputs` (graph/infer.h) and appends the node. UserError(type) at
  // `where` if the operation has no meaning there, or if `name` is taken.
  NodeId add(Op op, std::vector<NodeId> inputs, std::string name = "", Where where = {});
  // Names a node that has no name. UserError if the name is taken.
  void set_name(NodeId id, std::string name);
  // `wanted`, or wanted with a number appended, whatever is free.
  std::string fresh_name(std::string_view wanted) const;
  void add_output(std::string name, NodeId node);
  GroupId add_group(Group group);
  bool has_name(std::string_view name) const;  // of a node, group or output

  // The finished graph in canonical order (graph/canonical.h). Unnamed nodes that are read twice or
  // are outputs get names; unnamed ones that no output, update, group or named node needs are
  // dropped; groups get the unnamed sub-expressions of their members. *forward, *forward_groups, if
  // given: builder ids -> ids of the graph. Verifies it (graph/verify.h).
  Graph finish(std::vector<NodeId>* forward = nullptr,
               std::vector<GroupId>* forward_groups = nullptr) &&;

 private:
  void give_name(NodeId id, std::string name);
  void name_shared_nodes();

  using NodeByName = std::map<std::string, NodeId, std::less<>>;

  Graph graph_;
  NodeByName named_, outputs_;
  std::set<std::string, std::less<>> group_names_;
  // By the name wanted of fresh_name: all lower numbers are taken.
  mutable std::map<std::string, int> least_number_;
};

}  // namespace coconet
