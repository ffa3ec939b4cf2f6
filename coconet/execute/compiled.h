// A scheduled graph made ready to run: its plan, the C++ of the plan, and the library made of that.
#pragma once

#include <string>
#include <vector>

#include "coconet/plan/from_schedule.h"
#include "coconet/runtime/module.h"
#include "coconet/runtime/toolchain.h"

namespace coconet::execute {

class Compiled {
 public:
  // UserError for a graph that no plan expresses, and what Toolchain::compile throws.
  Compiled(const Graph& graph, const plan::PlanOptions& options,
           const runtime::Toolchain& toolchain);
  Compiled(plan::Plan plan, const runtime::Toolchain& toolchain);
  // With a module that was compiled before (coconet/prebuilt/), which stays loaded as long as this:
  // neither source nor library. UserError(runtime) for one of another plan.
  Compiled(plan::Plan plan, const kernel::Module& module);

  const plan::Plan& plan() const { return plan_; }
  std::uint64_t plan_hash() const { return plan_hash_; }
  const std::string& source() const { return source_; }
  const runtime::CompiledLibrary& library() const { return library_; }
  runtime::LoadedModule load() const;

 private:
  plan::Plan plan_;
  std::uint64_t plan_hash_;
  std::string source_;
  runtime::CompiledLibrary library_;
  const kernel::Module* module_ = nullptr;  // built before
};

// The same, of several plans side by side, as many at once as this process has cores. Throws what
// the first of them throws that cannot be made ready; none is begun after that.
std::vector<Compiled> compile_all(std::vector<plan::Plan> plans,
                                  const runtime::Toolchain& toolchain);

}  // namespace coconet::execute
