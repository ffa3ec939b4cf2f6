#include "coconet/execute/compiled.h"

#include "coconet/source/cpp/from_plan.h"

namespace coconet::execute {

Compiled::Compiled(const Graph& graph, const plan::PlanOptions& options,
                   const runtime::Toolchain& toolchain)
    : plan_(plan::from_schedule(graph, options)),
      plan_hash_(plan::hash_of(plan_)),
      source_(source::cpp::from_plan(plan_)),
      library_(toolchain.compile(source_)) {}

}  // namespace coconet::execute
