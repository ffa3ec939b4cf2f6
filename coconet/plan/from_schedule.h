// From a scheduled graph to its plan.
#pragma once

#include "coconet/plan/plan.h"

namespace coconet::plan {

struct PlanOptions {
  std::string schedule = {};  // its name, for print
  // Every value in a buffer of its own, an output "#index": for --verify. Not those that a fused
  // kernel cannot store, as what it computes of a peer's piece.
  bool keep_values = false;
  // Inputs, states and outputs in memory that the caller binds to each call (plan/staging.h).
  std::vector<std::string> staged = {};
};

// Every graph that inference and the steps accept has a plan; it is verified (plan/verify.h).
// UserError(usage) for a staged name that the program has not.
Plan from_schedule(const Graph& graph, const PlanOptions& options = {});

}  // namespace coconet::plan
