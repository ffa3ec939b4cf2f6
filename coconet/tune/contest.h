// Measures compiled schedules of one program against each other.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "coconet/execute/turns.h"
#include "coconet/tune/tune.h"

namespace coconet::tune {

// A compiled schedule with knobs.
struct Entry {
  const execute::Compiled* compiled = nullptr;
  Knobs knobs;
};

// Of calls in several rounds: medians of the times of the slowest rank, in microseconds.
struct Timing {
  double us = 0;      // as in the quickest round
  double spread = 0;  // how much longer the slowest round took than the quickest, without the drift
};

// Of `medians[entry][round]`, as many of each. A machine's speed drifts from round to round, by a
// fifth where cores are virtual, so what most take longer in a round than in their quickest is
// taken out of it. What then remains are single turns in which something else ran: the second least
// of its rounds is a schedule's time, as the least may be luck.
std::vector<Timing> timings_of(const std::vector<std::vector<double>>& medians);

class Contest {
 public:
  // `given` has every input (execute::draw_missing), and lives as long.
  Contest(const execute::GlobalTensors& given, const interp::Setting& setting, int threads,
          std::chrono::milliseconds timeout);

  // All are measured in turns on the same ranks, for about `time` in all, more where a few calls of
  // each take longer. Of those that take several times the quickest: the least of a few calls.
  std::vector<Timing> measure(const std::vector<Entry>& entries, std::chrono::milliseconds time);

  // As `execute::run` has it, of one call.
  execute::RunResult result_of(const Entry& entry);
  // "", or which operation of a schedule that reassociates leaves its bound (execute/verify.h):
  // compiles both programs anew and interprets them, so it is slow.
  std::string outside_bound(const Graph& program, const Entry& entry,
                            const runtime::Toolchain& toolchain);

 private:
  const execute::Inputs& inputs_of(const Graph& graph);
  execute::RunRequest request_of(const Entry& entry) const;  // without inputs
  std::vector<std::vector<double>> take_turns(const std::vector<Entry>& entries,
                                              const std::vector<execute::Turn>& turns);

  const execute::GlobalTensors& given_;
  interp::Setting setting_;
  int threads_;
  std::chrono::milliseconds timeout_;
  // By how inputs are cut, which few schedules change: they are copied once.
  std::map<std::string, execute::Inputs> inputs_;
};

}  // namespace coconet::tune
