// What a sweep found: a table, JSON, and a plot.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "coconet/tune/sweep.h"

namespace coconet::cli {

struct SweepReport {
  Graph program;
  std::string dim;
  std::string others;   // the mesh and the other dims
  std::string machine;  // and threads
  tune::Sweep sweep;
};

// "B  from_4096: split(total) ...", by which table and plot call a schedule.
std::string legend_of(const tune::Sweep& sweep, std::size_t schedule);

std::string text_of(const SweepReport& report);
nlohmann::ordered_json json_of(const SweepReport& report);
// An SVG image: time against size, both logarithmic, a line for each schedule, and where the
// choice changes.
std::string plot_of(const SweepReport& report);

}  // namespace coconet::cli
