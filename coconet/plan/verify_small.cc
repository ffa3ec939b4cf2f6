#include <optional>

#include "coconet/plan/small_sizes.h"
#include "coconet/plan/verify.h"

namespace coconet::plan {
namespace {

// Of all ranks' buffers: what is verified element by element takes some 100 bytes for each.
constexpr std::int64_t kMostElements = std::int64_t{4} << 20;

std::int64_t elements_of(const BoundPlan& bound) {
  std::int64_t out = 0;
  for (const Buffer& buffer : bound.plan->buffers) {
    for (int rank = 0; rank < bound.mesh.ranks(); ++rank) {
      out += bound.piece(buffer.type, rank).count();
    }
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

SmallCases verify_small(const Plan& plan) {
  verify(plan);
  std::vector<Sizes> sizes = {small_sizes(plan, 0)};
  if (cuts_blocks(plan)) sizes.push_back(small_sizes(plan, 2));
  std::vector<std::pair<Sizes, std::int64_t>> tried;  // and the number of chunks
  for (const Sizes& some : sizes) {
    tried.emplace_back(some, 1);
    if (!plan.overlaps.empty()) tried.emplace_back(some, 3);
  }
  if (longest_ring(plan) > 0) tried.emplace_back(ring_sizes(plan), 3 * (longest_ring(plan) + 1));
  SmallCases cases;
  for (const MeshSizes& mesh : small_meshes(plan.graph)) {
    for (const auto& [some, chunks] : tried) {
      const std::optional<BoundPlan> bound = allowed(plan, some, mesh, chunks);
      if (!bound) continue;
      if (elements_of(*bound) > kMostElements) {
        ++cases.too_large;
        continue;
      }
      const std::optional<BoundPlan> next = allowed(plan, sizes[0], mesh, chunks == 1 ? 3 : 1);
      verify_order(in_a_row({*bound, next ? *next : *bound}));
      verify_contributions(*bound);
      ++cases.verified;
    }
  }
  return cases;
}

}  // namespace coconet::plan
