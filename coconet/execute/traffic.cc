#include <algorithm>

#include "coconet/execute/run.h"
#include "coconet/plan/access.h"
#include "coconet/plan/bind.h"

namespace coconet::execute {

// A kernel reads from each peer, or writes to it, the elements of its space once; of block sums,
// one a block.
std::int64_t bytes_between_ranks(const plan::Plan& plan, const interp::Setting& setting) {
  const plan::BoundPlan bound = plan::bind(plan, setting.sizes, setting.mesh);
  std::int64_t most = 0;
  for (int rank = 0; rank < setting.mesh.ranks(); ++rank) {
    std::int64_t bytes = 0;
    for (const plan::Launch& launch : plan.launches) {
      const auto* kernel = std::get_if<plan::Kernel>(&launch.work);
      if (!kernel) continue;
      const std::int64_t space = bound.piece(kernel->space, rank).count();
      for (const plan::Access& access : plan::accesses_of(plan, launch)) {
        if (access.reach.empty()) continue;
        const TensorType& type = plan.buffer(access.buffer).type;
        const bool blocks = type.rank() == 1 && type.shape[0].is_blocks();
        const std::int64_t elements =
            blocks && !(type.shape == kernel->space.shape) ? (space + kBlock - 1) / kBlock : space;
        const auto group = setting.mesh.group(rank, access.reach);
        bytes += elements * size_of(type.dtype.kind) * (std::int64_t(group.size()) - 1);
      }
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace coconet::execute
