// The autotuner: finds schedules that are worth it, measures them beside the unscheduled program,
// and picks what is quickest here, at these sizes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coconet/execute/inputs.h"
#include "coconet/plan/cost.h"
#include "coconet/schedule/knobs.h"
#include "coconet/tune/search.h"

namespace coconet::tune {

// One schedule with its knobs.
struct Trial {
  Schedule schedule;  // without steps: the unscheduled program
  Knobs knobs;
  Exactness exactness = Exactness::exact;
  int launches = 0;
  double predicted_us = 0;
  // Median of calls, of the slowest rank; none: not measured. What was not in the final round has
  // its ratio to the unscheduled program in the first.
  std::optional<double> measured_us;
  std::string refused;  // why it may not win though it was measured; "" if it may
};

struct TuneOptions {
  SearchOptions search = {};
  std::size_t most_measured = 8;  // schedules; if exhaustive, all
  std::chrono::milliseconds compile_time = std::chrono::milliseconds(4000);
  std::chrono::milliseconds measure_time = std::chrono::milliseconds(1000);
  int threads = 0;                                              // of a rank, as RunRequest::threads
  std::vector<std::string> staged = {};                         // as PlanOptions::staged
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one wait, as of run
  // Called now and then: what is being done, and how much of it has been, 0 to 1.
  std::function<void(const std::string& what, double done)> progress = {};
};

struct Tuning {
  std::vector<Trial> trials;    // the measured ones first, the quickest first; then by prediction
  std::size_t winner = 0;       // index of a trial
  std::size_t unscheduled = 0;  // index of a trial
  std::size_t graphs = 0, pruned = 0;
  bool complete = true;                    // as of Search
  std::optional<double> rank_correlation;  // Spearman's, of predicted and measured times
  plan::Rates rates;                       // that predictions are of
  double search_ms = 0, compile_ms = 0, measure_ms = 0;
};

// Measures with the inputs `given` and what is drawn for the rest (execute/inputs.h). An exact
// schedule's results at these inputs are compared bit for bit with the unscheduled program's before
// it may win, those of one that reassociates with its bound. UserErrors as of execute::run; a rank
// that dies stops the others and the tuning.
Tuning tune(const Graph& program, const execute::GlobalTensors& given,
            const interp::Setting& setting, const TuneOptions& options = {});

}  // namespace coconet::tune
