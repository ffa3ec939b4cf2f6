#include "coconet/graph/check_sizes.h"

#include "coconet/type/list.h"

namespace coconet {
namespace {

[[noreturn]] void refuse(const Node& node, const std::string& message) {
  throw UserError(ErrorKind::data, message, node.where);
}

void check_root(const Graph& graph, const MeshSizes& mesh, const Node& node, int axis, int root) {
  if (root >= 0 && root < mesh.sizes[axis]) return;
  refuse(node, "root " + std::to_string(root) + " is no rank of axis " + graph.mesh().axes[axis] +
                   ", which has " + std::to_string(mesh.sizes[axis]) +
                   " ranks here, numbered from 0");
}

void check_roots(const Graph& graph, const MeshSizes& mesh, const Node& node) {
  for (int axis : node.type.layout.axes_that_are<Rooted>()) {
    check_root(graph, mesh, node, axis, std::get<Rooted>(node.type.layout.at(axis)).root);
  }
  const Broadcast* broadcast = std::get_if<Broadcast>(&node.op);
  if (!broadcast || !broadcast->root) return;
  for (int axis : broadcast->axes) check_root(graph, mesh, node, axis, *broadcast->root);
}

std::string with_size(const Dim& dim, const Sizes& sizes) {
  const std::string number = std::to_string(dim.bind(sizes));
  return dim.is_literal() ? number : dim.text() + " = " + number;
}

void check_narrow(const Graph& graph, const Sizes& sizes, const Node& node, const Narrow& op) {
  const Dim& whole = graph.node(node.inputs[0]).type.shape[op.dim];
  if (op.start.bind(sizes) <= whole.bind(sizes) - op.length.bind(sizes)) return;
  refuse(node, "narrow takes " + with_size(op.length, sizes) + " elements from " +
                   with_size(op.start, sizes) + " on of dim " + std::to_string(op.dim) +
                   ", which has " + with_size(whole, sizes) + "; give sizes that fit");
}

void check_concat(const Graph& graph, const Sizes& sizes, const Node& node, const Concat& op) {
  std::int64_t sum = 0;
  std::string parts;
  for (NodeId input : node.inputs) {
    const Dim& dim = graph.node(input).type.shape[op.dim];
    parts += (parts.empty() ? "" : " + ") + with_size(dim, sizes);
    if (__builtin_add_overflow(sum, dim.bind(sizes), &sum)) refuse(node, "a concat is too large");
  }
  const Dim& whole = node.type.shape[op.dim];
  if (sum == whole.bind(sizes)) return;
  refuse(node, "concat joins " + parts + " along dim " + std::to_string(op.dim) +
                   ", whose size is to be " + with_size(whole, sizes) + "; give sizes that fit");
}

void check_conv2d(const Graph& graph, const Sizes& sizes, const Node& node, const Conv2d& op) {
  for (int d = 2; d < 4; ++d) {
    const Dim& whole = graph.node(node.inputs[0]).type.shape[d];
    const Dim& window = graph.node(node.inputs[1]).type.shape[d];
    const std::int64_t places = places_of(op, whole.bind(sizes), window.bind(sizes));
    if (places == node.type.shape[d].bind(sizes)) continue;
    refuse(node, "conv2d has " + std::to_string(places) + " places for a window of " +
                     with_size(window, sizes) + " along dim " + std::to_string(d) + " of " +
                     with_size(whole, sizes) + ", whose size in the result is to be " +
                     with_size(node.type.shape[d], sizes) + "; give sizes that fit");
  }
}

void check_across(const Graph& graph, const Sizes& sizes, const Node& node, const Across& op) {
  const TensorType& list = graph.node(node.inputs[0]).type;
  for (std::size_t d = 0; op.size && d < op.size->size(); ++d) {
    const Dim &numbered = (*list.list)[d], &one = (*op.size)[d];
    if (numbered == one) continue;
    const std::vector<std::int64_t> of_members = ListBlocks(numbered, sizes).elements();
    for (std::size_t k = 0; k < of_members.size(); ++k) {
      if (of_members[k] == one.bind(sizes)) continue;
      refuse(node, "across folds members of one shape, but member " + std::to_string(k) + " has " +
                       numbered.text() + " = " + std::to_string(of_members[k]) + " and " +
                       (k > 0 ? "member 0 " : "size says ") + with_size(one, sizes) +
                       "; give sizes that are equal");
    }
  }
}

}  // namespace

void check_sizes(const Graph& graph, const Sizes& sizes, const MeshSizes& mesh) {
  check_requirements(graph.header().requirements, graph.mesh(), sizes, mesh);
  for (const Node& node : graph.nodes()) {
    check_roots(graph, mesh, node);
    if (const Narrow* op = std::get_if<Narrow>(&node.op)) check_narrow(graph, sizes, node, *op);
    if (const Concat* op = std::get_if<Concat>(&node.op)) check_concat(graph, sizes, node, *op);
    if (const Across* op = std::get_if<Across>(&node.op)) check_across(graph, sizes, node, *op);
    if (const Conv2d* op = std::get_if<Conv2d>(&node.op)) check_conv2d(graph, sizes, node, *op);
  }
}

}  // namespace coconet
