// Which schedule runs, and how.
#pragma once

#include <string>
#include <vector>

#include "cli/load.h"
#include "coconet/execute/inputs.h"
#include "coconet/tune/decision.h"

namespace coconet::cli {

// "--chunks 8 --protocol direct", as `run` takes them.
std::string options_text(const Knobs& knobs);

// If rounds of a schedule differ by so much (Trial::spread) that something else must have run: a
// sentence; else "".
std::string busy_text(double spread);

struct Chosen {
  Applied applied;
  std::string schedule;  // that runs; "": unscheduled
  Knobs knobs;
};

// By `name`: a schedule of the file, a choice of it at these sizes, or what tuning has found for
// them here, or finds now: then it says on stderr what, with a bar meanwhile if `bar`. Knobs that
// are `typed` go first.
Chosen choose(const File& file, const Graph& program, const std::string& name,
              const execute::GlobalTensors& given, const interp::Setting& setting,
              const tune::TuneOptions& options, const Knobs& typed, bool bar);
// The schedules of the file for this program; tuning measures them too.
std::vector<Schedule> own_schedules(const File& file, const Graph& program);

}  // namespace coconet::cli
