// Where a rank is in its job, for one that ends without a word.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace coconet::runtime {

// In memory that the rank, the one writer, shares with whoever reports its end. All zeros: it
// joins. Entering and leaving a call are a store each.
class Place {
 public:
  void joined() { set(kJoined, 0); }
  void enter_call(std::uint64_t number) { set(kInCall, number); }
  void leave_call(std::uint64_t number) { set(kAfterCall, number); }
  // A name that does not fit is cut.
  void enter_barrier(const std::string& name);
  void leave_barrier();

  // "as it joined", "before its first call", "in call 3", "after barrier \"end\"".
  std::string text() const;

 private:
  enum Kind : std::uint64_t { kJoining, kJoined, kInCall, kAfterCall, kInBarrier, kAfterBarrier };
  static constexpr std::uint64_t kKinds = 8;

  void set(Kind kind, std::uint64_t number) {
    word_.store(number * kKinds + kind, std::memory_order_release);
  }

  std::atomic<std::uint64_t> word_;  // number * kKinds + kind
  std::uint64_t barriers_;
  char names_[2][80];  // of barriers, by turns
};

}  // namespace coconet::runtime
