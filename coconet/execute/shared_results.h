// What ranks give back to the process that started them, in memory that they share with it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "coconet/execute/run.h"
#include "coconet/plan/bind.h"
#include "coconet/runtime/shared_bytes.h"

namespace coconet::execute {

// A buffer whose value at the end of call 0 the caller gets.
struct Returned {
  std::string name;
  int buffer;
  bool storage;  // an updated state or input, not an output
};
std::vector<Returned> returned_of(const plan::Plan& plan);

// Of each rank: the values of what is returned, and the time that each call took.
class SharedResults {
 public:
  // Of all ranks, for `calls` calls.
  static std::size_t bytes(const plan::BoundPlan& bound, std::span<const Returned> returned,
                           int calls);
  // `bound` and `returned` live as long.
  SharedResults(const plan::BoundPlan& bound, std::span<const Returned> returned, int calls);

  // Where rank `rank`'s value of returned[r] goes: as many bytes as the rank holds.
  std::span<std::byte> value(std::size_t r, int rank) const;
  // Microseconds that a call took on a rank.
  double& time(int call, int rank) const;
  RunResult collect() const;

 private:
  const plan::BoundPlan& bound_;
  std::span<const Returned> returned_;
  int calls_, ranks_;
  runtime::SharedBytes memory_;
};

}  // namespace coconet::execute
