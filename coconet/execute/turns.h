// Measures several plans on one set of ranks, in turns and in the same memory.
#pragma once

#include <span>
#include <vector>

#include "coconet/execute/run.h"

namespace coconet::execute {

// `inputs` stand for the request's, so that several share them; its `repeat` has no meaning. All of
// one run have the same mesh, threads, kind and timeout.
struct Contender {
  const Compiled* compiled = nullptr;
  const RunRequest* request = nullptr;
  const Inputs* inputs = nullptr;
};

// `calls` calls of one contender in a row, each from the same inputs and states: placed before each
// call, as long as what a rank has of them stays in its caches anyway, else before the first.
struct Turn {
  int contender = 0;
  int calls = 1;
};

// microseconds[turn][call] of the slowest rank; a call begins when all ranks have come. UserErrors
// as of run.
std::vector<std::vector<double>> run_in_turns(std::span<const Contender> contenders,
                                              std::span<const Turn> turns);

}  // namespace coconet::execute
