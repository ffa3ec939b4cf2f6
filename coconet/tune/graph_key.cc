#include "coconet/tune/graph_key.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "coconet/graph/literal.h"
#include "coconet/graph/print.h"
#include "coconet/graph/walk.h"
#include "coconet/kernel/dropout.h"
#include "coconet/schedule/region.h"

namespace coconet::tune {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
  return kernel::mix(seed ^ value) + value;
}
std::uint64_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }

std::string numbers(const std::vector<int>& values) {
  std::string out;
  for (const int value : values) out += std::to_string(value) + ",";
  return out;
}

// What an operation has beyond its word, operands and result type.
std::string attributes(const Op& op) {
  const auto none = [](const auto&) { return std::string(); };
  return std::visit(
      Overloaded{
          [&](const Dropout& x) { return std::to_string(x.site); },
          [&](const Matmul& x) { return std::string(x.ta ? "ta" : "") + (x.tb ? "tb" : ""); },
          [&](const Conv2d& x) {
            return std::to_string(x.stride) + "," + std::to_string(x.padding);
          },
          [&](const Reduce& x) { return std::string(name_of(x.fn)) + numbers(x.dims); },
          [&](const Softmax& x) { return numbers(x.dims); },
          [&](const Transpose& x) { return numbers(x.order); },
          [&](const Narrow& x) { return std::to_string(x.dim) + "," + x.start.text(); },
          [&](const Concat& x) { return std::to_string(x.dim); },
          [&](const BlockReduce& x) {
            return std::string(name_of(x.fold)) + (x.of_squares ? "2" : "");
          },
          [&](const FoldBlocks& x) { return std::string(name_of(x.fold)) + (x.mean ? "m" : ""); },
          [&](const Across& x) { return std::string(name_of(x.fold)); },
          [&](const AllReduce& x) { return std::string(name_of(x.fold)) + numbers(x.axes); },
          [&](const ReduceScatter& x) { return std::string(name_of(x.fold)) + numbers(x.axes); },
          [&](const AllGather& x) { return numbers(x.axes); },
          [&](const ReduceTo& x) {
            return std::string(name_of(x.fold)) + std::to_string(x.root) + "," + numbers(x.axes);
          },
          [&](const Broadcast& x) {
            return std::to_string(x.root.value_or(-1)) + "," + numbers(x.axes);
          },
          [&](const Shard& x) { return numbers(x.axes); },
          [&](const RootOf& x) { return std::to_string(x.root) + "," + numbers(x.axes); },
          [&](const AsPartial& x) { return std::string(name_of(x.fold)) + numbers(x.axes); },
          [&](const Shift& x) {
            return std::to_string(x.by) + (x.wrap ? "w" : "") + numbers(x.axes);
          },
          [&](const AllToAll& x) { return numbers(x.axes); },
          [&](const Stack& x) { return numbers(x.axes); },
          [&](const Input& x) { return none(x); },
          [&](const Constant& x) { return none(x); },
          [&](const AxisSize& x) { return std::to_string(x.axis); },
          [&](const DimSize& x) { return x.dim.text(); },
          [&](const Pointwise& x) { return none(x); },
          [&](const Cast& x) { return none(x); },
          [&](const Norm& x) { return none(x); },
          [&](const LayerNorm& x) { return none(x); },
          [&](const RmsNorm& x) { return none(x); },
          [&](const Reshape& x) { return none(x); },
          [&](const Update& x) { return none(x); },
      },
      op);
}

std::vector<std::uint64_t> hashes_of_nodes(const Graph& graph) {
  std::vector<std::uint64_t> out;
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    std::string text = std::string(word_of(node.op)) + "|" + attributes(node.op) + "|" +
                       node.type.text(graph.mesh());
    if (std::holds_alternative<Input>(node.op)) text += "|" + node.name;
    if (std::holds_alternative<Constant>(node.op)) text += "|" + expression_text(graph, {i});
    std::uint64_t hash = hash_of(text);
    for (const NodeId input : node.inputs) hash = mixed(hash, out[input.index]);
    out.push_back(hash);
  }
  return out;
}

}  // namespace

std::uint64_t graph_key(const Graph& graph) {
  const std::vector<std::uint64_t> nodes = hashes_of_nodes(graph);
  std::vector<std::uint64_t> parts;
  for (int i = 0; i < graph.size(); ++i) {
    if (!is_literal(graph, {i})) parts.push_back(nodes[i]);
  }
  for (const Output& output : graph.outputs()) {
    parts.push_back(mixed(hash_of(output.name), nodes[output.node.index]));
  }
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    std::vector<std::uint64_t> members;
    for (const NodeId id : list_of(nodes_of(graph, GroupId{g}))) members.push_back(nodes[id.index]);
    std::ranges::sort(members);
    std::uint64_t hash = graph.group({g}).kind == GroupKind::fused ? 1 : 2;
    for (const std::uint64_t member : members) hash = mixed(hash, member);
    parts.push_back(hash);
  }
  std::ranges::sort(parts);
  std::uint64_t out = graph.size();
  for (const std::uint64_t part : parts) out = mixed(out, part);
  return out;
}

}  // namespace coconet::tune
