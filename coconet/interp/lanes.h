// The canonical order of reductions inside a tensor (DESIGN 9), as kernel/lanes.h has it, on values
// of any dtype.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "coconet/interp/scalar.h"

namespace coconet::interp {

inline constexpr int kLanes = 16;

// Lanes 0..15 begin at the identity; element i goes to lane i mod 16; at the end the lanes are folded
// from the left.
class LaneFold {
 public:
  LaneFold(Fold fold, DTypeKind accumulator);
  // Requires: value has the accumulator's kind.
  void add(const ScalarValue& value) {
    ScalarValue& lane = lanes_[next_];
    lane = fold_step(fold_, lane, value);
    next_ = (next_ + 1) % kLanes;
  }
  ScalarValue total() const;

 private:
  Fold fold_;
  int next_ = 0;
  std::array<ScalarValue, kLanes> lanes_;
};

// Folds block sums in order.
ScalarValue fold_in_order(Fold fold, DTypeKind accumulator, const std::vector<ScalarValue>& sums);

}  // namespace coconet::interp
