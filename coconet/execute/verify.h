// Checks compiled results: against the interpreter, and a schedule against the unscheduled program.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "coconet/execute/run.h"
#include "coconet/schedule/rewrite.h"

namespace coconet::execute {

struct OutputCheck {
  bool bit_equal_to_unscheduled = false;
  double difference_to_unscheduled = 0;
  double difference_to_interpreter = 0;  // of the result, from the interpreter on the whole program
  std::string first_difference;          // to the unscheduled program; "" if bit-equal
  // Ranks that hold the same element hold the same bits; "" if they do.
  std::string first_replica_difference;
};

struct Verification {
  std::map<std::string, OutputCheck> outputs;
  std::map<std::string, OutputCheck> storage;  // updated states and inputs
  // Every operation of the unscheduled program, compiled, on the compiled values of its own inputs:
  // the interpreter's bits, or for a matmul within its bound. Of a schedule that reassociates the
  // operations of the scheduled program too, and its results must be those of that compilation.
  bool within_bound = true;
  std::string first_outside;  // which operation, where, got and want
};

// The modules that verify() needs beside the scheduled one: they store every operation's value.
class CompiledForVerify {
 public:
  // Thread-safety: may be constructed beside other compilations.
  CompiledForVerify(const Graph& unscheduled, const Graph& scheduled, Exactness exactness,
                    const runtime::Toolchain& toolchain);

  const Graph& unscheduled() const { return unscheduled_; }
  const Graph& scheduled() const { return scheduled_; }
  const Compiled& plain() const { return compiled_[0]; }
  // Of the scheduled graph, if it is not exact; else null.
  const Compiled* reassociated() const { return compiled_.size() > 1 ? &compiled_[1] : nullptr; }

 private:
  Graph unscheduled_, scheduled_;
  std::vector<Compiled> compiled_;
};

// "", or why bits of the graph's matmuls depend on the chunk on this machine: then a schedule that
// chunks them gives other bits, whatever its label. Takes some tenths of a second a dtype.
std::string inexact_matmul(const Graph& graph);

// `request` is that of the unscheduled program, `scheduled_request` the same inputs cut as the
// scheduled one has them, `result` what the scheduled program gave for it.
Verification verify(const CompiledForVerify& compiled, const RunRequest& request,
                    const RunRequest& scheduled_request, const RunResult& result);

// What a scheduled graph gave for some inputs.
struct ResultOf {
  const Graph& graph;
  const RunResult& result;
};
// "" if the outputs and the updated storage have the same bits, else the first that has not:
// "out[1,7]: 2 and 3". Requires: both are of one program, for the same inputs.
std::string first_difference(const ResultOf& scheduled, const ResultOf& unscheduled,
                             const interp::Setting& setting);

}  // namespace coconet::execute
