// What an optimizer's step must make of the inputs (inputs.h), in double.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/worker/inputs.h"
#include "bench/worker/problem.h"

namespace coconet::bench {

struct StepValues {
  double p = 0, m = 0, v = 0;
};

class ExpectedStep {
 public:
  // LAMB's norms are of each member of a list, or of the whole flat tensor. Takes time where it is
  // LAMB's: once over all elements.
  ExpectedStep(bool lamb, const Problem& problem, int ranks, decltype(gradient)& of);

  // Of the i-th element of all, which is one of this member (0 of a flat tensor).
  StepValues at(std::size_t member, std::int64_t i) const;

 private:
  struct Direction {
    double u, m, v;
  };
  Direction direction(std::int64_t i) const;

  bool lamb_;
  int ranks_;
  decltype(gradient)& of_;
  StepScalars with_;
  double rest1_ = 1, rest2_ = 1;  // 1 - beta^step
  std::vector<double> ratios_;    // by member
};

}  // namespace coconet::bench
