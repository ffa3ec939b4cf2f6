// Checks compiled results: against the interpreter, and a schedule against the unscheduled program.
#pragma once

#include <map>
#include <string>

#include "coconet/execute/run.h"

namespace coconet::execute {

struct OutputCheck {
  bool bit_equal_to_unscheduled = false;
  double difference_to_unscheduled = 0;
  double difference_to_interpreter = 0;  // of the result, from the interpreter on the whole program
};

struct Verification {
  std::map<std::string, OutputCheck> outputs;  // outputs, and updated storage by name
  // Every operation of the unscheduled program, compiled, on the compiled values of its own inputs:
  // the interpreter's bits, or for a matmul within its bound.
  bool within_bound = true;
  std::string first_outside;  // which operation, where, got and want
};

// `request` is that of the unscheduled program; `scheduled` what the schedule gave, on the same
// inputs, `scheduled_graph` its graph.
Verification verify(const Graph& unscheduled, const RunRequest& request,
                    const Graph& scheduled_graph, const RunResult& scheduled,
                    const runtime::Toolchain& toolchain);

}  // namespace coconet::execute
