#include "coconet/execute/compiled.h"

#include "coconet/graph/verify.h"
#include "coconet/kernel/cpu/ranks.h"
#include "coconet/kernel/cpu/space.h"
#include "coconet/plan/bind.h"
#include "coconet/source/cpp/from_plan.h"

namespace coconet::execute {

// What kernels have room for is what types, meshes and binding let through.
static_assert(kernel::kMaxDims >= kMostDims && kernel::kMaxAxes >= kMostAxes &&
              kernel::kMaxRanks >= plan::kMaxRanks);
// A cut that merges n groups keeps them and leaves n - 1 fewer.
static_assert(kernel::kMaxNested >= 2 * (kMostDims - 1));

Compiled::Compiled(const Graph& graph, const plan::PlanOptions& options,
                   const runtime::Toolchain& toolchain)
    : Compiled(plan::from_schedule(graph, options), toolchain) {}

Compiled::Compiled(plan::Plan plan, const runtime::Toolchain& toolchain)
    : plan_(std::move(plan)),
      plan_hash_(plan::hash_of(plan_)),
      source_(source::cpp::from_plan(plan_)),
      library_(toolchain.compile(source_)) {}

}  // namespace coconet::execute
