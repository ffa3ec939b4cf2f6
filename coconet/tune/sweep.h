// Tunes a program over a range of sizes: which schedule from which size on.
#pragma once

#include <string>
#include <vector>

#include "coconet/schedule/choice.h"
#include "coconet/tune/tune.h"

namespace coconet::tune {

struct SweepRange {
  std::string dim;
  std::int64_t least = 1, most = 1;  // each from 1 to 2^62; points are least times powers of two
};

// A schedule with knobs that was the quickest somewhere, and the unscheduled program.
struct Swept {
  Schedule schedule;
  Knobs knobs;
  std::vector<double> us;      // by point, as Trial::measured_us
  std::vector<double> spread;  // by point, as Trial::spread
};

struct Sweep {
  std::vector<std::int64_t> points;   // sizes of the dim, ascending; the last is the largest
  std::vector<Swept> schedules;       // unscheduled first
  std::vector<std::size_t> quickest;  // by point: index of the schedule that is chosen
  Choice choice;                      // of those that are quickest somewhere, called "tuned"
  double seconds = 0;
};

// Tunes at some of the points, then measures what has won anywhere at all of them, beside the
// unscheduled program; where the choice would change, once more. Each point has a schedule within
// 3 % of its quickest, with as few changes as that leaves.
// The schedules are called by where they begin to be the quickest, "from_4096". `setting` has the
// sizes of all other dims. UserErrors as of tune, and UserError(usage) for a range that is none; a
// size that is not legal or does not fit in memory is one before anything is tuned.
Sweep sweep(const Graph& program, const execute::GlobalTensors& given,
            const interp::Setting& setting, const SweepRange& range,
            const TuneOptions& options = {});

}  // namespace coconet::tune
