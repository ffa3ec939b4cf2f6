// Which schedules are worth measuring: what legal steps reach, in one order of their kinds, ordered
// by what the cost model expects of them.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "coconet/schedule/candidates.h"

namespace coconet::tune {

// A scheduled graph and the steps that make it.
struct Candidate {
  std::vector<Step> steps;  // none: the unscheduled program
  Applied applied;
  double predicted_us = 0;
};

struct SearchOptions {
  // Every graph that the order of steps reaches, whatever it costs, up to `most_graphs`.
  bool exhaustive = false;
  bool allow_reassociation = false;  // steps after which results are not bit-equal
  std::size_t most_graphs = 4000;
  std::chrono::milliseconds time = std::chrono::milliseconds(2000);  // if not exhaustive
};

struct Search {
  std::vector<Candidate> candidates;  // distinct graphs, the cheapest first; unscheduled among them
  std::size_t graphs = 0;             // distinct ones that were looked at
  std::size_t pruned = 0;             // of them: not followed, as others were cheaper
  bool complete = true;               // neither time nor most_graphs ended it
  double milliseconds = 0;
};

// What steps have in common that differ in their slice alone.
std::string without_slices(const Step& step);

// What a scheduled graph is expected to take, in microseconds. Throws UserError for one that has
// no plan; that is left out.
using Predict = std::function<double(const Graph&)>;

// The order (DESIGN.md 10; the paper's section 5.4 enumerates breadth first as well). Steps commute
// where they touch different operations, so only one order of their kinds is followed:
//  1. communication: split or distribute, each followed by the reorders of its gather that move the
//     most, of all or of what comes before the next communication; reorders of the program's own
//     gathers; as often as that is legal;
//  2. storage: as_slice of all states, or of none; every gather that is dead is left out;
//  3. fuse with communication, in every legal way; then computations, as many as fit one kernel;
//  4. overlap of what then runs by itself.
// Graphs that are equal but for names are followed once, and values of one dim in the slice that is
// exact. Unless exhaustive, of each round of 1 the cheapest alone are followed, and of splits that
// differ in their slice alone the two cheapest.
Search search(const Graph& graph, const Predict& predict, const SearchOptions& options = {});

}  // namespace coconet::tune
