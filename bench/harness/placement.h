// Where the two cores are, told by the round trip of a flag between them. It changes while the
// machine runs, for seconds or minutes, and with it everything that is measured.
#pragma once

#include <algorithm>
#include <string>

#include "bench/harness/participant.h"

namespace coconet::bench {

// S: the cores share a cache of the last level. D: they do not.
inline std::string placement_of(double round_trip_nanoseconds) {
  return round_trip_nanoseconds < 200 ? "S" : "D";
}

// "" if what was probed before and after a batch is not the same: the batch is of no placement.
inline std::string placement_of(const Batch& batch) {
  const auto [least, most] = std::minmax(batch.round_trip_before, batch.round_trip_after);
  const bool same = placement_of(least) == placement_of(most) && most <= 1.5 * least;
  return same ? placement_of(least) : "";
}

}  // namespace coconet::bench
