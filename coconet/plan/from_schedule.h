// From a scheduled graph to its plan.
#pragma once

#include "coconet/plan/plan.h"

namespace coconet::plan {

struct PlanOptions {
  std::string schedule;      // its name, for print
  bool keep_values = false;  // every value in a buffer of its own that is an output of the node's
                             // name (or "#index"): for --verify
};

// Every graph that inference and the steps accept has a plan; it is verified (plan/verify.h).
Plan from_schedule(const Graph& graph, const PlanOptions& options = {});

}  // namespace coconet::plan
