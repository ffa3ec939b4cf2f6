// A program on given values by interpreter, plan executor and generated code at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/io/tensor_data.h"
#include "tests/support/planned.h"

namespace coconet {

// Values of inputs by name, as files hold them (execute/inputs.h); others are drawn.
using GivenValues = std::map<std::string, std::vector<double>>;

struct Everywhere {
  Graph graph;
  interp::Setting setting;
  interp::Result result;  // the interpreter's

  // The numbers that a rank holds of an output.
  std::vector<double> on_rank(const std::string& output, int rank) const;
  // An output's global value, as a file would hold it.
  std::vector<double> global(const std::string& output) const;
};

enum class Also { executor, compiled };  // compiled: as ranks that are threads, too

// Expects the same bits of all that run it. `steps` are those of a schedule, `call` the number of
// the call (generated code begins with 0). UserError for what is refused.
Everywhere run_everywhere(const std::string& program, const std::string& steps, const Sizes& sizes,
                          const std::vector<int>& mesh, const GivenValues& values = {},
                          Also also = Also::compiled, std::uint64_t call = 0);

}  // namespace coconet
