#include <algorithm>
#include <optional>
#include <set>

#include "coconet/graph/check_sizes.h"
#include "coconet/plan/verify.h"
#include "coconet/type/list.h"

namespace coconet::plan {
namespace {

// The shape of the first buffer that a slice (*) cuts, if any: only with some blocks of it are the
// ranks' pieces more than one.
const Shape* flat_shape(const Plan& plan) {
  for (const Buffer& buffer : plan.buffers) {
    for (int axis : buffer.type.layout.slice_order()) {
      if (buffer.type.layout.slice(axis).flat) return &buffer.type.shape;
    }
  }
  return nullptr;
}

// Uneven for 2 and 3 ranks; `blocks` of the flat shape.
Sizes small_sizes(const Plan& plan, std::int64_t blocks) {
  static constexpr std::int64_t kSizes[] = {5, 3, 4, 2};
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

// The program allows the sizes on the mesh.
bool allows(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh) {
  try {
    check_sizes(plan.graph, with_axes(sizes, plan.graph.mesh(), mesh), mesh);
    return true;
  } catch (const UserError&) {
    return false;
  }
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
  std::erase_if(out, [](const std::string& dim) { return !list_index(dim).empty(); });
  return out;
}

// The sizes, or where the program does not allow them, the first small ones of its bounded dims
// that it allows on the mesh; the sizes themselves if none are.
Sizes allowed_sizes(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh) {
  static constexpr std::int64_t kSizes[] = {3, 2, 4, 6, 1, 12};
  const std::set<std::string> dims = bounded_dims(plan.graph);
  const std::int64_t most = 10000;  // of combinations
  Sizes out = sizes;
  for (std::int64_t combination = 0; combination < most && !allows(plan, out, mesh);
       ++combination) {
    std::int64_t rest = combination;
    for (const std::string& dim : dims) {
      out[dim] = kSizes[rest % std::size(kSizes)];
      rest /= static_cast<std::int64_t>(std::size(kSizes));
    }
    if (rest > 0) return sizes;
  }
  return out;
}

// With each overlapped group in `chunks`; nothing if the program allows no such sizes.
std::optional<BoundPlan> allowed(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh,
                                 std::int64_t chunks) {
  try {
    return bind(plan, allowed_sizes(plan, sizes, mesh), mesh,
                std::vector<std::int64_t>(plan.overlaps.size(), chunks));
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

int verify_small(const Plan& plan) {
  verify(plan);
  const int axes = plan.graph.mesh().size();
  std::vector<MeshSizes> meshes;
  for (int ranks = 1; ranks <= 3; ++ranks) {
    meshes.push_back({std::vector<int>(axes, std::min(ranks, axes > 1 ? 2 : 3))});
    if (axes > 1) meshes.back().sizes[0] = ranks;
  }
  std::vector<Sizes> sizes = {small_sizes(plan, 0)};
  if (flat_shape(plan)) sizes.push_back(small_sizes(plan, 2));
  int cases = 0;
  for (const MeshSizes& mesh : meshes) {
    for (const Sizes& some : sizes) {
      for (std::int64_t chunks :
           plan.overlaps.empty() ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 3}) {
        const std::optional<BoundPlan> bound = allowed(plan, some, mesh, chunks);
        if (!bound) continue;
        const std::optional<BoundPlan> next = allowed(plan, sizes[0], mesh, 4 - chunks);
        verify_order(in_a_row({*bound, next ? *next : *bound}));
        verify_contributions(*bound);
        ++cases;
      }
    }
  }
  return cases;
}

}  // namespace coconet::plan
