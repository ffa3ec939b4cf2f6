#include <algorithm>
#include <map>
#include <set>

#include "coconet/plan/access.h"
#include "coconet/plan/order.h"

namespace coconet::plan {
namespace {

// Inside an overlapped group chunks of all launches interleave: its launches count as one moment.
LaunchId moment_begin(const Plan& plan, LaunchId id) {
  const int group = plan.launch(id).overlap;
  return group < 0 ? id : plan.overlaps[group].first;
}

LaunchId moment_end(const Plan& plan, LaunchId id) {
  const int group = plan.launch(id).overlap;
  return group < 0 ? id : plan.overlaps[group].last;
}

void find_lifetimes(Plan& plan) {
  for (int l = 0; l < static_cast<int>(plan.launches.size()); ++l) {
    for (const Access& access : accesses_of(plan, plan.launches[l])) {
      Buffer& buffer = plan.buffers[access.buffer.index];
      if (!access.reach.empty()) buffer.symmetric = true;
      if (!buffer.first.valid()) buffer.first = moment_begin(plan, LaunchId{l});
      buffer.last = std::max(buffer.last, moment_end(plan, LaunchId{l}));
    }
  }
}

bool may_share(const Buffer& a, const Buffer& b) {
  return a.symmetric == b.symmetric && a.type.shape == b.type.shape &&
         a.type.layout == b.type.layout && size_of(a.type.dtype.kind) == size_of(b.type.dtype.kind);
}

// The slots of temporaries that may share, by whether they are in use.
struct Pool {
  int buffer;  // one of them
  std::set<int> free;
  std::set<std::pair<LaunchId, int>> busy;  // (until, slot)
};

// A pool for each kind of buffer, found by the shape's text first.
class Pools {
 public:
  explicit Pools(const Plan& plan) : plan_(plan) {}

  // With what has been freed before the buffer's first use.
  Pool& of(int b) {
    const Buffer& buffer = plan_.buffers[b];
    std::vector<Pool>& pools = pools_[text_of(buffer.type.shape)];
    auto pool = std::find_if(pools.begin(), pools.end(), [&](const Pool& other) {
      return may_share(plan_.buffers[other.buffer], buffer);
    });
    if (pool == pools.end()) pool = pools.insert(pool, Pool{b, {}, {}});
    while (!pool->busy.empty() && pool->busy.begin()->first < buffer.first) {
      pool->free.insert(pool->busy.extract(pool->busy.begin()).value().second);
    }
    return *pool;
  }

 private:
  const Plan& plan_;
  std::map<std::string, std::vector<Pool>> pools_;
};

}  // namespace

void derive_memory(Plan& plan) {
  find_lifetimes(plan);
  std::vector<bool> kept;
  for (const Buffer& buffer : plan.buffers) {
    kept.push_back(buffer.role != BufferRole::temporary || buffer.of_caller);
  }
  for (const PlanOutput& output : plan.outputs) kept[output.buffer.index] = true;
  std::vector<int> order;  // by first use
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) order.push_back(b);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return plan.buffers[a].first < plan.buffers[b].first; });
  Pools pools(plan);
  int slots = 0;
  for (int b : order) {
    Buffer& buffer = plan.buffers[b];
    if (kept[b]) {
      buffer.slot = slots++;
      continue;
    }
    Pool& pool = pools.of(b);
    buffer.slot = pool.free.empty() ? slots++ : pool.free.extract(pool.free.begin()).value();
    pool.busy.insert({buffer.last, buffer.slot});
  }
}

}  // namespace coconet::plan
