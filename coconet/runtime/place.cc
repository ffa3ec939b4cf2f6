#include "coconet/runtime/place.h"

#include <cstring>

namespace coconet::runtime {

void Place::enter_barrier(const std::string& name) {
  const std::uint64_t number = barriers_++;
  char(&out)[sizeof names_[0]] = names_[number % 2];
  std::strncpy(out, name.c_str(), sizeof out - 1);
  set(kInBarrier, number);
}

void Place::leave_barrier() { set(kAfterBarrier, barriers_ - 1); }

std::string Place::text() const {
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  const std::uint64_t number = word / kKinds;
  const std::string barrier = std::string("barrier \"") + names_[number % 2] + "\"";
  switch (static_cast<Kind>(word % kKinds)) {
    case kJoining: return "as it joined";
    case kJoined: return "before its first call";
    case kInCall: return "in call " + std::to_string(number);
    case kAfterCall: return "after call " + std::to_string(number);
    case kInBarrier: return "in " + barrier;
    case kAfterBarrier: return "after " + barrier;
  }
  return "at a place that is not known";
}

}  // namespace coconet::runtime
