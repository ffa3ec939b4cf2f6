// Two graphs mean the same: the interpreter gives the same bits.
#pragma once

#include <map>
#include <string>

#include "coconet/interp/interpreter.h"
#include "coconet/schedule/apply.h"

namespace coconet {

// Global values of a graph's inputs by name (interp/global_tensor.h), numbers that look random but
// are the same for the same seed. States that are squares are not negative if their name is "v".
std::map<std::string, interp::Bytes> draw_inputs(const Graph& graph, const interp::Setting& setting,
                                                 int seed);
// Runs the graph on the ranks' pieces of global inputs.
interp::Result run_on(const Graph& graph, const std::map<std::string, interp::Bytes>& globals,
                      const interp::Setting& setting);

// Expects of each output, each storage, and each single value that both sides have a handle of,
// the same global value, bit for bit.
void expect_same_meaning(const Applied& before, const Applied& after,
                         const std::map<std::string, interp::Bytes>& globals,
                         const interp::Setting& setting);

// Applies the schedule step by step on that many ranks, each step compared with the program.
void expect_schedule_keeps_meaning(const Graph& program, const Schedule& schedule,
                                   const Sizes& sizes, const std::vector<int>& mesh, int seed = 1);

}  // namespace coconet
