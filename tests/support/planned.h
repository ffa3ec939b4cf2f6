// A program with a schedule, planned, with drawn inputs: what tests of plans run.
#pragma once

#include <map>
#include <string>

#include "coconet/interp/interpreter.h"
#include "coconet/plan/plan.h"
#include "coconet/schedule/step.h"
#include "coconet/simulate/executor.h"

namespace coconet {

struct Planned {
  Graph graph;  // scheduled
  plan::Plan plan;
  interp::Setting setting;
  std::map<std::string, interp::Pieces> inputs;

  interp::Result meaning() const { return interp::run(graph, inputs, setting); }
};

// Texts: a whole file with one program, and the steps of a schedule. Inputs are drawn; a
// scalar without a default is 3.
Planned planned(const std::string& program, const std::string& steps, const Sizes& sizes,
                const std::vector<int>& mesh);

Planned planned(const Graph& program, const Schedule& schedule, const Sizes& sizes,
                const std::vector<int>& mesh);

// `count` calls in a row, each from what the one before has left in storage: what the interpreter
// gives, and what the executor is to be given.
std::vector<interp::Result> meanings(const Graph& graph, const interp::Setting& setting,
                                     std::map<std::string, interp::Pieces> inputs, int count);
std::vector<simulate::CallGiven> calls_in_a_row(const interp::Setting& setting,
                                                const std::map<std::string, interp::Pieces>& inputs,
                                                int count);

// All outputs and storage have the same bits.
bool same_results(const Graph& graph, const interp::Result& a, const interp::Result& b);

// The program of README.md's attention tail, and its overlapped schedule's steps.
extern const char* const kAttention;
extern const char* const kAttentionOverlapped;
// The sum of the ranks' doubled tensors.
extern const char* const kSum;
// A sharded optimizer step with a norm, and its schedule's steps.
extern const char* const kNormStep;
extern const char* const kNormStepSharded;

}  // namespace coconet
