#include <algorithm>

#include "coconet/execute/run.h"
#include "coconet/plan/access.h"
#include "coconet/plan/bind.h"

namespace coconet::execute {
namespace {

// How many times a launch moves each element that a store writes: to each of the others of a group,
// or to one rank. Of an exchange a rank keeps its own share.
double copies_of(const plan::BoundPlan& bound, const plan::Store& store, int rank) {
  if (store.to) {
    const auto to = bound.mesh.shifted(rank, store.to->axes[0], store.to->by, store.to->wrap);
    return to && *to != rank ? 1 : 0;
  }
  const double group = static_cast<double>(bound.mesh.group(rank, *store.all).size());
  return store.held ? (group - 1) / group : group - 1;
}

}  // namespace

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
      const auto bytes_of = [&](plan::BufferId buffer) {
        const TensorType& type = plan.buffer(buffer).type;
        const bool blocks =
            type.rank() == 1 && (type.shape[0].is_blocks() || type.is_scalar_list());
        const bool a_block = blocks && !(type.shape == kernel->space.shape);
        return (a_block ? (space + kBlock - 1) / kBlock : space) * size_of(type.dtype.kind);
      };
      for (const plan::Access& access : plan::accesses_of(plan, launch)) {
        if (access.reach.empty() || access.write) continue;
        const auto group = setting.mesh.group(rank, access.reach);
        bytes += bytes_of(access.buffer) * (std::int64_t(group.size()) - 1);
      }
      for (const plan::Store& store : kernel->stores) {
        if (plan::reach_of(store).empty()) continue;
        const double copies = copies_of(bound, store, rank);
        bytes += static_cast<std::int64_t>(copies * static_cast<double>(bytes_of(store.buffer)));
      }
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace coconet::execute
