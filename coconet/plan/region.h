// Lowers one member (a fused group or a single node) to launches.
#pragma once

#include <optional>
#include <vector>

#include "coconet/plan/kernel_builder.h"
#include "coconet/plan/plan.h"
#include "coconet/plan/storage.h"
#include "coconet/plan/units.h"

namespace coconet::plan {

struct LoweringOptions {
  bool keep_values = false;   // see PlanOptions
  std::optional<Slice> rows;  // cut an all_reduce among the ranks by these rows instead of (*)
};

// Appends the member's launches to the plan: one kernel a phase (phases are parted by tensor-wide
// reductions), a matmul, or a reduction.
void lower_member(Plan& plan, Storage& storage, const Member& member,
                  const LoweringOptions& options);

// Appends a kernel that copies the value of `from` (a view, constant or input too) to `to`.
void lower_copy(Plan& plan, Storage& storage, NodeId from, BufferId to, const std::string& name);

}  // namespace coconet::plan
