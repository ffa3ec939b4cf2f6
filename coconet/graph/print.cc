#include "coconet/graph/print.h"

#include <algorithm>

#include "coconet/graph/literal.h"
#include "coconet/graph/walk.h"

namespace coconet {
namespace {

constexpr std::size_t kWidth = 100;

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string declarations(const Header& header) {
  std::string out = "mesh " + header.mesh.text() + "\n";
  if (!header.dims.empty()) out += "dim " + joined(header.dims) + "\n";
  for (const DTypeParameter& dtype : header.dtypes) {
    out += "dtype " + dtype.name + " = " + std::string(name_of(dtype.kind)) + "\n";
  }
  for (const Requirement& requirement : header.requirements) {
    out += "require " + text_of(requirement.condition, header.mesh) + "\n";
  }
  return out + "\n";
}

std::string parameter_text(const Node& node, const Mesh& mesh) {
  const Input& input = std::get<Input>(node.op);
  if (input.kind != InputKind::scalar) {
    const std::string state = input.kind == InputKind::state ? "state " : "";
    return state + node.name + ": " + input.type.text(mesh);
  }
  std::string out = "scalar " + node.name + ": " + input.type.dtype.text();
  if (input.default_value) {
    const double value = *input.default_value;
    const DTypeKind kind = input.type.dtype.kind;
    const LiteralValue literal = kind == DTypeKind::boolean ? LiteralValue(value != 0)
                                 : is_floating(kind)
                                     ? LiteralValue(value)
                                     : LiteralValue(static_cast<std::int64_t>(value));
    out += " = " + text_of(literal);
  }
  return out;
}

// "program NAME(x: T[B], ...) {", broken between parameters.
std::string signature(const Graph& graph) {
  std::string line = "program " + graph.header().program + "(";
  const std::string indent(line.size(), ' ');
  std::string out;
  bool first = true;
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Input>(node.op)) continue;
    const std::string parameter = parameter_text(node, graph.mesh());
    if (!first) line += ",";
    if (!first && line.size() + parameter.size() + 4 > kWidth) {
      out += line + "\n";
      line = indent;
    } else if (!first) {
      line += " ";
    }
    line += parameter;
    first = false;
  }
  return out + line + ") {\n";
}

class Printer {
 public:
  Printer(const Graph& graph, bool with_types)
      : graph_(graph), with_types_(with_types), readers_(readers_of(graph)) {
    group_of_.assign(graph.size(), GroupId{});
    parent_.assign(graph.groups().size(), GroupId{});
    for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
      for (NodeId id : graph.group({g}).nodes) group_of_[id.index] = {g};
      for (GroupId member : graph.group({g}).groups) parent_[member.index] = {g};
    }
  }

  std::string print() {
    out_ = declarations(graph_.header()) + signature(graph_);
    // A finished graph has the members of each group together.
    for (int i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node({i});
      if (node.name.empty() || std::holds_alternative<Input>(node.op)) continue;
      enter(group_of_[i]);
      write_statement({i});
    }
    enter(GroupId{});
    write_outputs();
    return out_ + "}\n";
  }

 private:
  std::string indent() const { return std::string(2 + 2 * open_.size(), ' '); }

  // Closes and opens groups until the innermost open one is `group`.
  void enter(GroupId group) {
    std::vector<GroupId> wanted;
    for (; group.valid(); group = parent_[group.index]) wanted.push_back(group);
    std::reverse(wanted.begin(), wanted.end());
    std::size_t same = 0;
    while (same < open_.size() && same < wanted.size() && open_[same] == wanted[same]) ++same;
    while (open_.size() > same) {
      open_.pop_back();
      out_ += indent() + "}\n";
    }
    for (; same < wanted.size(); ++same) {
      const Group& opened = graph_.group(wanted[same]);
      if (opened.kind == GroupKind::fused) {
        out_ += indent() + joined(results_of(opened)) + " = fused " + opened.name + " {\n";
      } else {
        out_ += indent() + "overlapped " + opened.name + " {\n";
      }
      open_.push_back(wanted[same]);
    }
  }

  // The named members that are seen outside of a fused group; the last one if none is.
  std::vector<std::string> results_of(const Group& group) const {
    const NodeSet members = set_of(graph_, group.nodes);
    std::vector<std::string> out;
    std::string last;
    for (NodeId id : group.nodes) {
      const Node& node = graph_.node(id);
      if (node.name.empty()) continue;
      last = node.name;
      const std::vector<NodeId>& readers = readers_[id.index];
      const bool read = std::any_of(readers.begin(), readers.end(),
                                    [&](NodeId reader) { return !members[reader.index]; });
      if (read || is_output(graph_, id) || std::holds_alternative<Update>(node.op)) {
        out.push_back(node.name);
      }
    }
    if (out.empty()) out.push_back(last);
    return out;
  }

  void write_statement(NodeId id) {
    const Node& node = graph_.node(id);
    out_ += indent() + node.name + " = " + expression_text(graph_, id);
    if (with_types_) out_ += "  # " + node.type.text(graph_.mesh());
    out_ += "\n";
  }

  void write_outputs() {
    std::vector<std::string> names;
    for (const Output& output : graph_.outputs()) {
      const std::string& name = graph_.node(output.node).name;
      if (name != output.name) out_ += indent() + output.name + " = " + name + "\n";
      names.push_back(output.name);
    }
    if (!names.empty()) out_ += indent() + "return " + joined(names) + "\n";
  }

  const Graph& graph_;
  const bool with_types_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<GroupId> group_of_;  // by node: the innermost group
  std::vector<GroupId> parent_;    // by group
  std::vector<GroupId> open_;      // outermost first
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, bool with_types) {
  return Printer(graph, with_types).print();
}

}  // namespace coconet
