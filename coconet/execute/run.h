// Runs a compiled plan on ranks of this machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coconet/execute/compiled.h"
#include "coconet/interp/interpreter.h"
#include "coconet/runtime/launch.h"

namespace coconet::execute {

struct RunRequest {
  interp::Setting setting;                       // sizes, mesh, seed; the first call is call 0
  std::map<std::string, interp::Pieces> inputs;  // by name; scalars with a default may be left out
  int repeat = 1;                    // calls; each begins with the same inputs and states
  std::vector<std::int64_t> chunks;  // see plan::bind
  bool check_inputs = true;  // compare a hash of the replicated inputs across ranks at call 0
  runtime::RankKind kind = runtime::RankKind::process;
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

struct RunResult {
  // Of call 0, as interp::Result has them.
  std::map<std::string, interp::Pieces> outputs;
  std::map<std::string, interp::Pieces> storage;
  // microseconds[call][rank], the entry to the call and the leaving included.
  std::vector<std::vector<double>> microseconds;
};

// UserError(data) for inputs that are missing or of another size, UserError(runtime) for a rank
// that died or did not come.
RunResult run(const Compiled& compiled, const RunRequest& request);

// Bytes that a rank of the mesh reads from or writes to its peers in one call, the largest of all
// ranks: the traffic of the plan.
std::int64_t bytes_between_ranks(const plan::Plan& plan, const interp::Setting& setting);

}  // namespace coconet::execute
