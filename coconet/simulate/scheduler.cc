#include "coconet/simulate/scheduler.h"

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet::simulate {

Scheduler::Scheduler(Policy policy, std::uint64_t seed, int ranks)
    : policy_(policy), random_(seed) {
  special_ = static_cast<int>(random_() % static_cast<std::uint64_t>(ranks));
}

int Scheduler::any_of(const std::vector<int>& ranks) { return ranks[random_() % ranks.size()]; }

int Scheduler::pick(const std::vector<int>& enabled) {
  check(!enabled.empty(), "some rank can act");
  const bool can = std::binary_search(enabled.begin(), enabled.end(), special_);
  switch (policy_) {
    case Policy::random: return any_of(enabled);
    case Policy::round_robin: {
      const auto next = std::upper_bound(enabled.begin(), enabled.end(), special_);
      return special_ = next == enabled.end() ? enabled.front() : *next;
    }
    case Policy::ahead: return can ? special_ : any_of(enabled);
    case Policy::behind: {
      std::vector<int> others = enabled;
      std::erase(others, special_);
      return others.empty() ? special_ : any_of(others);
    }
  }
  throw InternalError("a Policy outside its enumerators");
}

Policy policy_of(std::uint64_t seed) { return static_cast<Policy>(seed % 4); }

}  // namespace coconet::simulate
