#include "coconet/graph/print.h"

namespace coconet {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

std::string node_line(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool input = std::holds_alternative<Input>(node.op);
  const std::string text = input ? "" : " = " + expression_text(graph, id);
  return "n" + std::to_string(id.index) + " [shape=" + (input ? "ellipse" : "box") +
         ", label=" + quoted(node.name + text + "\n" + node.type.text(graph.mesh())) + "];\n";
}

void write_group(const Graph& graph, GroupId id, const std::string& indent, std::string& out) {
  const Group& group = graph.group(id);
  const bool fused = group.kind == GroupKind::fused;
  out += indent + "subgraph cluster_" + std::to_string(id.index) + " {\n";
  out += indent + "  label=" + quoted((fused ? "fused " : "overlapped ") + group.name) +
         "; style=" + (fused ? "solid" : "dashed") + ";\n";
  for (NodeId member : group.nodes) {
    if (!graph.node(member).name.empty()) {
      out += indent + "  n" + std::to_string(member.index) + ";\n";
    }
  }
  for (GroupId member : group.groups) write_group(graph, member, indent + "  ", out);
  out += indent + "}\n";
}

}  // namespace

std::string dot(const Graph& graph) {
  std::string out = "digraph " + quoted(graph.header().program) + " {\n";
  // contained_by[i]: the named node whose expression node i belongs to.
  std::vector<int> contained_by(graph.size(), -1);
  std::string edges;
  for (int i = graph.size() - 1; i >= 0; --i) {
    const Node& node = graph.node({i});
    if (!node.name.empty()) contained_by[i] = i;
    for (NodeId input : node.inputs) {
      if (graph.node(input).name.empty()) {
        contained_by[input.index] = contained_by[i];
      } else {
        edges +=
            "  n" + std::to_string(input.index) + " -> n" + std::to_string(contained_by[i]) + ";\n";
      }
    }
  }
  for (int i = 0; i < graph.size(); ++i) {
    if (!graph.node({i}).name.empty()) out += "  " + node_line(graph, {i});
  }
  std::vector<bool> is_member(graph.groups().size(), false);
  for (const Group& group : graph.groups()) {
    for (GroupId member : group.groups) is_member[member.index] = true;
  }
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    if (!is_member[g]) write_group(graph, {g}, "  ", out);
  }
  return out + edges + "}\n";
}

}  // namespace coconet
