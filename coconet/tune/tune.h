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

// What schedules are called that no user has written.
inline constexpr const char* kFoundSchedule = "tuned";

// A spread (Trial::spread) above this: something else must have run.
inline constexpr double kNoisy = 0.3;

// One schedule with its knobs.
struct Trial {
  Schedule schedule;  // without steps: the unscheduled program
  Knobs knobs;
  Exactness exactness = Exactness::exact;
  int launches = 0;
  double predicted_us = 0;
  // Of the slowest rank, as Timing::us (tune/contest.h); none: not measured. What was not in the
  // final round has its ratio to the unscheduled program in the first, and cannot win.
  std::optional<double> measured_us;
  bool is_final = false;  // was in the final round
  double spread = 0;      // how far the parts of that round were apart, by the median
  std::string refused;    // why it may not win though it was measured; "" if it may
};

struct TuneOptions {
  SearchOptions search = {};
  std::size_t most_measured = 8;  // schedules; if exhaustive, all
  std::chrono::milliseconds compile_time = std::chrono::milliseconds(5000);
  std::chrono::milliseconds measure_time = std::chrono::milliseconds(1000);
  int threads = 0;                       // of a rank, as RunRequest::threads
  std::vector<std::string> staged = {};  // as PlanOptions::staged
  std::vector<Schedule> schedules = {};  // of the user's: measured too, unless they may not win
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one wait, as of run
  // Called now and then: what is being done, and how much of it has been, 0 to 1.
  std::function<void(const std::string& what, double done)> progress = {};
};

struct Tuning {
  // Of the final round, the quickest first; then those that were measured before it; then the rest,
  // by prediction.
  std::vector<Trial> trials;
  std::size_t winner = 0;       // index of a trial
  std::size_t unscheduled = 0;  // index of a trial
  // If exhaustive: index of the trial that wins without that, measured anew beside the winner.
  std::optional<std::size_t> picked;
  std::size_t graphs = 0, pruned = 0;
  bool complete = true;                    // as of Search
  std::optional<double> rank_correlation;  // Spearman's, of predicted and measured times
  plan::Rates rates;                       // that predictions are of
  std::vector<std::string> drawn;          // inputs that were not given
  std::string note;                        // what the user should know of the cache; "": nothing
  std::vector<std::string> left_out;  // schedules of the user's that were not measured, and why
  double search_ms = 0, compile_ms = 0, measure_ms = 0;
};

// Measures with the inputs `given` and what is drawn for the rest (execute/inputs.h). An exact
// schedule's results at these inputs are compared bit for bit with the unscheduled program's before
// it may win, those of one that reassociates with its bound. UserErrors as of execute::run; a rank
// that dies stops the others and the tuning. If exhaustive, tunes without that first: see `picked`.
Tuning tune(const Graph& program, const execute::GlobalTensors& given,
            const interp::Setting& setting, const TuneOptions& options = {});

}  // namespace coconet::tune
