// One case of the property test: a program, a schedule, sizes; what must hold of it; its text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coconet/schedule/step.h"
#include "tests/property/random_program.h"

namespace coconet::property {

struct Case {
  std::uint64_t seed = 0;  // made it
  Program program;
  std::vector<Step> steps;
  interp::Setting setting;
};

// A graph of a case to be run otherwise than by interpreter and executor.
struct RunnerCall {
  const Graph& graph;
  const interp::Setting& setting;
  const std::map<std::string, interp::Pieces>& inputs;
  const interp::Result& want;  // the interpreter's
  bool unscheduled = true;     // the case's first graph, else its last
  bool last = true;            // no other graph of the case comes after
  bool exact = true;           // no step before reassociates
};
// Runs it, for example as generated code; what is wrong, or nothing.
using Runner = std::function<std::optional<std::string>(const RunnerCall& call)>;

// What differs between two results of graphs of one program, compared by global tensors, as a step
// may change how a state is placed; nothing if all bits are equal or, once a step reassociates,
// near.
std::optional<std::string> differs(const interp::Setting& setting, const Graph& got_graph,
                                   const interp::Result& got, const Graph& want_graph,
                                   const interp::Result& want, bool exact);

struct Outcome {
  std::optional<std::string> failure;  // what did not hold
  int steps = 0;                       // that applied
  int chunked = 0;                     // plans with an overlapped group
  int rings = 0;                       // plans performed with memory for some chunks of a buffer
  int staged = 0;                      // plans with copies from or to the caller's memory
  int in_place = 0;                    // pairs of buffers that may be one memory
};

// What of a graph stands in the caller's memory: nothing, all that may, or some of it, by the seed.
std::vector<std::string> drawn_to_stage(const Graph& graph, std::uint64_t seed);

// Draws a case: legal steps are found by trying.
Case random_case(std::uint64_t seed);

// 1. The program prints and parses back. 2. Each step leaves what the program gives: bit for bit,
// or within a bound once a step reassociates. 3. Each graph has a plan, which verifies and,
// performed by the executor under several schedulers and chunk counts, some in several calls in a
// row, gives the interpreter's bits; so does one whose buffers are staged (drawn_to_stage), in
// place where plan/in_place.h says so. 4. So does `runner`, if there is one.
Outcome run_case(const Case& given, const Runner& runner = nullptr);

// The text of the program, the schedule, the sizes.
std::string text_of(const Case& given);

// The smallest case found within a minute that still fails: fewer steps, statements and ranks,
// smaller sizes.
Case shrink(const Case& failing, const Runner& runner = nullptr);

}  // namespace coconet::property
