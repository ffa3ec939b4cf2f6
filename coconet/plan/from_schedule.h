// From a scheduled graph to its plan.
#pragma once

#include "coconet/plan/plan.h"

namespace coconet::plan {

struct PlanOptions {
  std::string schedule;      // its name, for print
  bool keep_values = false;  // every value in a buffer of its own that is an output of the node's
                             // name (or "#index"): for --verify
};

// UserError(unsupported) for a graph that plans cannot express, naming the operation and what would
// be legal.
Plan from_schedule(const Graph& graph, const PlanOptions& options = {});

}  // namespace coconet::plan
