// Runs the graphs of a case as generated code, ranks as threads.
#pragma once

#include "coconet/runtime/toolchain.h"
#include "tests/property/property_case.h"

namespace coconet::property {

// A case's unscheduled graph comes first; it is run if there are products of floats. Without matrix
// products of floats the bits are the interpreter's; with them they are near, and those of the
// unscheduled program, if the schedule is exact.
class CompiledRunner {
 public:
  CompiledRunner() = default;
  std::optional<std::string> operator()(const RunnerCall& call);

 private:
  runtime::Toolchain toolchain_;
  std::optional<Graph> graph_;  // the unscheduled one
  interp::Result unscheduled_;
};

}  // namespace coconet::property
