// Picks which of the ranks that can act does: orders in which a missing wait is felt.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace coconet::simulate {

enum class Policy {
  random,       // any rank, step by step
  round_robin,  // each in turn
  ahead,        // one rank whenever it can act; the others at random
  behind,       // one rank only when no other can act; the others at random
};

// The same seed makes the same choices.
class Scheduler {
 public:
  Scheduler(Policy policy, std::uint64_t seed, int ranks);
  // One of `enabled` (ranks, ascending, not empty).
  int pick(const std::vector<int>& enabled);

 private:
  int any_of(const std::vector<int>& ranks);

  Policy policy_;
  std::mt19937_64 random_;
  int special_;  // the rank that is ahead or behind, or acted last
};

// Seeds 0, 1, 2, ... go through the policies.
Policy policy_of(std::uint64_t seed);

}  // namespace coconet::simulate
