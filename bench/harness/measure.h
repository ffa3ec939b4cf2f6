// The round robin: a batch of every cell in turn, again and again, filed by placement, so that what
// is compared was measured in turns within one placement.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/participant.h"

namespace coconet::bench {

using ByPlacement = std::map<std::string, std::vector<double>>;

// One thing that is measured of one participant.
struct Cell {
  std::string workload;
  std::string dtype;
  std::string name;             // of the participant, in tables
  std::size_t participant = 0;  // its index
  std::string operation;
  double bytes = 0;                          // that all ranks move in an iteration, of a floor
  double bound = 0;                          // of what check() may give
  std::int64_t iterations = 1, warm_up = 1;  // of a batch; set by calibrate
  ByPlacement medians = {};                  // of batches
  ByPlacement round_trips = {};              // nanoseconds
  int thrown_away = 0;                       // batches of no placement
  double first = 0;                          // microseconds of an iteration, before all batches
  int rounds = 0;                            // with a batch of it, after each start
  bool peer = false;                         // one of those of which the best counts
  bool tuned = false;                        // a peer with other settings than its default ones
  bool out = false;                          // a peer that has not come to the finals
  std::string failed = {};                   // why there is nothing more of it
};

struct Effort {
  int rounds = 8;
  int starts = 2;  // of every participant: other pages of memory each time
  double batch_microseconds = 10'000;
  double cell_microseconds = 1e6;  // of all batches of a cell, but for the fewest that it needs
  int fewest_batches = 3;          // of a placement, for a figure of it
  bool stay = true;  // participants run all the time; false: during their batches alone
  // All are measured anew beside the best peers of each workload and dtype, and what was measured
  // before is forgotten: the least of twenty figures is the best peer's luck as well, and that of a
  // time when the machine was quicker than when ours had its turn.
  bool finals = true;
};

// A participant's result was not the expected one.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A cell of `ours` that fails or is wrong ends the measurement (ParticipantFailed, WrongResult). Of
// another participant all cells are left out from its failure on, one cell where it is wrong.
void measure(std::vector<Participant>& participants, std::vector<Cell>& cells, const Effort& effort,
             const std::string& ours);

// A peer that takes this many times as long as the fastest of its workload and dtype will not be
// the best: it gets the fewest batches that make a figure.
inline constexpr double kHopeless = 10;

// In the finals: of each workload, dtype and placement at most so many peers' cells, and half as
// many of those with default settings alone, that take up to kClose times as long as the best.
inline constexpr std::size_t kFinalists = 4;
inline constexpr double kClose = 1.2;

// Of what was filed under a placement; 0 if that is fewer than `fewest`.
double median_of(const ByPlacement& values, const std::string& placement, int fewest);

}  // namespace coconet::bench
