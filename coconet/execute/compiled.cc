#include "coconet/execute/compiled.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "coconet/graph/verify.h"
#include "coconet/kernel/cpu/ranks.h"
#include "coconet/kernel/cpu/space.h"
#include "coconet/plan/bind.h"
#include "coconet/runtime/cores.h"
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

Compiled::Compiled(plan::Plan plan, const kernel::Module& module)
    : plan_(std::move(plan)), plan_hash_(plan::hash_of(plan_)), module_(&module) {
  load();
}

runtime::LoadedModule Compiled::load() const {
  if (module_) return {*module_, plan_hash_};
  return {library_.path, plan_hash_};
}

std::vector<Compiled> compile_all(std::vector<plan::Plan> plans,
                                  const runtime::Toolchain& toolchain) {
  std::vector<std::optional<Compiled>> made(plans.size());
  std::vector<std::exception_ptr> failures(plans.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < plans.size() && !failed; i = next++) {
      try {
        made[i].emplace(std::move(plans[i]), toolchain);
      } catch (...) {
        failures[i] = std::current_exception();
        failed = true;
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t cores = runtime::allowed_cores().size();
    for (std::size_t t = 1; t < std::min(cores, plans.size()); ++t) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  std::vector<Compiled> out;
  for (std::optional<Compiled>& each : made) out.push_back(std::move(*each));
  return out;
}

}  // namespace coconet::execute
