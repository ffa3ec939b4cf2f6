// Which schedules are worth compiling and measuring.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "coconet/tune/tune.h"

namespace coconet::tune {

struct Entrant {
  const Candidate* candidate = nullptr;
  std::string name = {};  // of its schedule; "": unscheduled
};

// Of different graphs. Candidates live as long as this and the search that it is made of.
struct Entrants {
  std::vector<Entrant> all;           // the unscheduled program is the first
  std::vector<std::string> left_out;  // as of Tuning
  std::deque<Candidate> own = {};     // that no search found

  // Index of the schedule's graph, which is added if it is not there.
  std::size_t add(const Graph& program, const Schedule& schedule, double predicted_us);
};

// The unscheduled program; then, the cheapest first, the user's schedules and those found, one of
// each in turn, as time to compile them may end. Of those found, as many as the options say, at
// first one of those that differ in slices alone; if exhaustive, all.
Entrants entrants(const Graph& program, const Search& found, const Predict& predict,
                  const TuneOptions& options);

}  // namespace coconet::tune
