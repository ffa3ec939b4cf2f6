// How large a problem is, as harness and ranks tell each other: in the arguments of a participant's
// program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/worker/serve.h"

namespace coconet::bench {

struct Problem {
  std::int64_t elements = 0;               // of a flat tensor; of a list's members together
  std::vector<std::int64_t> members = {};  // of a list: elements of each
  std::int64_t m = 0, n = 0, k = 0;        // rows, columns; what a rank's part of a product sums

  bool operator==(const Problem&) const = default;
};

// Name and value of every argument that says something.
std::map<std::string, std::string> words_of(const Problem& problem);
Problem problem_of(const Arguments& arguments);

}  // namespace coconet::bench
