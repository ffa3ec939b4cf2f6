#include "coconet/interp/lanes.h"

namespace coconet::interp {

LaneFold::LaneFold(Fold fold, DTypeKind accumulator) : fold_(fold) {
  lanes_.fill(identity(fold, accumulator));
}

ScalarValue LaneFold::total() const {
  ScalarValue total = lanes_[0];
  for (int lane = 1; lane < kLanes; ++lane) total = fold_step(fold_, total, lanes_[lane]);
  return total;
}

ScalarValue fold_in_order(Fold fold, DTypeKind accumulator,
                          const std::vector<ScalarValue>& sums) {
  ScalarValue total = identity(fold, accumulator);
  for (const ScalarValue& sum : sums) total = fold_step(fold, total, sum);
  return total;
}

}  // namespace coconet::interp
