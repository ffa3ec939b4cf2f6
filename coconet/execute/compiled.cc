#include "coconet/execute/compiled.h"

#include "coconet/source/cpp/from_plan.h"

namespace coconet::execute {

Compiled::Compiled(const Graph& graph, const plan::PlanOptions& options,
                   const runtime::Toolchain& toolchain)
    : Compiled(plan::from_schedule(graph, options), toolchain) {}

Compiled::Compiled(plan::Plan plan, const runtime::Toolchain& toolchain)
    : plan_(std::move(plan)),
      plan_hash_(plan::hash_of(plan_)),
      source_(source::cpp::from_plan(plan_)),
      library_(toolchain.compile(source_)) {}

}  // namespace coconet::execute
