#include "coconet/plan/small_sizes.h"

#include <algorithm>
#include <set>

#include "coconet/graph/check_sizes.h"
#include "coconet/type/list.h"

namespace coconet::plan {
namespace {

// The shape of the first buffer that a slice (*) cuts, if any.
const Shape* flat_shape(const Plan& plan) {
  for (const Buffer& buffer : plan.buffers) {
    for (int axis : buffer.type.layout.slice_order()) {
      if (buffer.type.layout.slice(axis).flat) return &buffer.type.shape;
    }
  }
  return nullptr;
}

// The numbers that stand in requirements, and the axes.
struct Named {
  std::set<std::int64_t> numbers;
  std::set<int> axes;
};

void add_named(const SizeExpr& expr, Named& out) {
  if (expr.kind == SizeExpr::Kind::axis) out.axes.insert(expr.axis);
  if (expr.kind == SizeExpr::Kind::dim && expr.dim.is_literal()) {
    out.numbers.insert(expr.dim.bind({}));
  }
  for (const SizeExpr& operand : expr.operands) add_named(operand, out);
}

Named named_in_requirements(const Graph& graph) {
  Named out;
  for (const Requirement& requirement : graph.header().requirements) {
    add_named(requirement.condition, out);
  }
  return out;
}

// The dims that requirements name, and those that the sizes of a result must fit.
std::set<std::string> bounded_dims(const Graph& graph) {
  std::set<std::string> out;
  for (const Requirement& requirement : graph.header().requirements) {
    const auto dims = dims_in(requirement.condition);
    out.insert(dims.begin(), dims.end());
  }
  for (const Node& node : graph.nodes()) {
    std::vector<Dim> dims;
    const auto along = [&](int dim) {
      dims.push_back(node.type.shape[dim]);
      for (NodeId input : node.inputs) dims.push_back(graph.node(input).type.shape[dim]);
    };
    if (const Narrow* narrow = std::get_if<Narrow>(&node.op)) {
      along(narrow->dim);
      dims.push_back(narrow->start);
    }
    const Concat* concat = std::get_if<Concat>(&node.op);
    if (concat && concat->size) along(concat->dim);
    const Across* across = std::get_if<Across>(&node.op);
    if (across && across->size) dims = *across->size;
    const Conv2d* conv = std::get_if<Conv2d>(&node.op);
    for (int dim = 2; conv && conv->size && dim < 4; ++dim) along(dim);
    for (const Dim& dim : dims) out.insert(dim.names().begin(), dim.names().end());
  }
  return out;
}

// What is tried for a bounded dim: small numbers, those around the ones in requirements, and
// products of two of these.
std::vector<std::int64_t> tried_sizes(const Graph& graph) {
  constexpr std::int64_t kMost = 4096;
  std::vector<std::int64_t> out = {3, 2, 4, 6, 1, 12};
  const auto add = [&](std::int64_t size) {
    if (size > 1 && size <= kMost && std::ranges::count(out, size) == 0) out.push_back(size);
  };
  const std::set<std::int64_t> numbers = named_in_requirements(graph).numbers;
  for (const std::int64_t number : numbers) {
    if (number > kMost) continue;
    for (const std::int64_t size : {number, 2 * number, number + 1}) add(size);
    for (const std::int64_t other : numbers) {
      if (other < number) add(number * other);
    }
  }
  return out;
}

// Of members that are multiples of `size`: one empty and one of several blocks, if it may be so.
std::vector<std::vector<std::int64_t>> tried_members(std::int64_t size) {
  const std::int64_t large = (kBlock / size + 1) * size;
  return {{size, 0, large}, {size, size, large}, {size, size, size}};
}

bool allows(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh) {
  try {
    check_sizes(plan.graph, with_axes(sizes, plan.graph.mesh(), mesh), mesh);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

bool cuts_blocks(const Plan& plan) { return flat_shape(plan) != nullptr; }

std::vector<MeshSizes> small_meshes(const Graph& graph) {
  const int axes = graph.mesh().size();
  std::vector<MeshSizes> out;
  for (int ranks = 1; ranks <= 3; ++ranks) {
    out.push_back({std::vector<int>(axes, std::min(ranks, axes > 1 ? 2 : 3))});
    if (axes > 1) out.back().sizes[0] = ranks;
  }
  constexpr std::int64_t kMostRanks = 8;
  const Named named = named_in_requirements(graph);
  for (const int axis : named.axes) {
    for (const std::int64_t number : named.numbers) {
      for (const std::int64_t ranks : {number, number + 1}) {
        if (ranks <= 3 || ranks > kMostRanks) continue;
        out.push_back({std::vector<int>(axes, 1)});
        out.back().sizes[axis] = static_cast<int>(ranks);
      }
    }
  }
  return out;
}

Sizes small_sizes(const Plan& plan, std::int64_t blocks) {
  static constexpr std::int64_t kSizes[] = {5, 3, 4, 2};  // uneven for 2 and 3 ranks
  Sizes sizes;
  int next = 0;
  for (const std::string& dim : plan.graph.header().dims) {
    sizes[dim] = kSizes[next++ % 4];
    if (list_index(dim).empty()) continue;
    sizes.erase(dim);
    sizes.lists[dim] = {5, 0, 1030};
  }
  for (const Node& node : plan.graph.nodes()) {
    const Across* across = std::get_if<Across>(&node.op);
    if (!across || !across->size) continue;
    for (const Dim& dim : *plan.graph.node(node.inputs[0]).type.list) {
      for (const std::string& name : dim.names()) {
        if (!list_index(name).empty()) sizes.lists[name] = {12, 12, 12};
      }
    }
  }
  const Shape* flat = flat_shape(plan);
  if (blocks == 0 || !flat) return sizes;
  for (const Dim& dim : *flat) {
    if (dim.names().empty() || !list_index(dim).empty()) continue;
    std::int64_t& size = sizes[dim.names().front()];
    while (product_of(*flat).bind(sizes) < blocks * kBlock) size += size;
    break;
  }
  return sizes;
}

int longest_ring(const Plan& plan) {
  int longest = 0;
  for (const Buffer& buffer : plan.buffers) longest = std::max(longest, buffer.ring);
  return longest;
}

Sizes ring_sizes(const Plan& plan) {
  const std::int64_t rows = 3 * (std::int64_t{longest_ring(plan)} + 1);
  Sizes sizes = small_sizes(plan, rows);
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.ring == 0) continue;
    const Slice& slice = plan.overlaps.at(plan.launch(buffer.first).overlap).slice;
    if (slice.flat) continue;
    const Shape& shape = buffer.type.shape;
    const Dim leading = product_of({shape.begin(), shape.begin() + slice.last + 1});
    const auto known = [&](const std::string& name) { return sizes.contains(name); };
    if (leading.names().empty() || !std::ranges::all_of(leading.names(), known)) continue;
    while (leading.bind(sizes) < rows) ++sizes[leading.names().front()];
  }
  return sizes;
}

Sizes allowed_sizes(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh) {
  const std::vector<std::int64_t> tried = tried_sizes(plan.graph);
  const std::set<std::string> dims = bounded_dims(plan.graph);
  const std::int64_t most = 30000;  // of combinations
  Sizes out = sizes;
  for (std::int64_t combination = 0; combination < most && !allows(plan, out, mesh);
       ++combination) {
    std::int64_t rest = combination;
    const auto choose = [&](std::size_t choices) {
      const std::int64_t choice = rest % static_cast<std::int64_t>(choices);
      rest /= static_cast<std::int64_t>(choices);
      return choice;
    };
    for (const std::string& dim : dims) {
      const std::int64_t size = tried[choose(tried.size())];
      if (list_index(dim).empty()) {
        out[dim] = size;
      } else {
        const auto members = tried_members(size);
        out.lists[dim] = members[choose(members.size())];
      }
    }
    if (rest > 0) return sizes;
  }
  return out;
}

}  // namespace coconet::plan
