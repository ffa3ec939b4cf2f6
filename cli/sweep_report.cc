#include "cli/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/chosen.h"
#include "cli/tune_report.h"

namespace coconet::cli {
namespace {

using tune::Sweep;
using tune::Swept;

// "A", "B", ...: what columns are called; a legend says what they are.
std::string letter(std::size_t schedule) {
  return std::string(1, static_cast<char>('A' + schedule % 26)) +
         (schedule < 26 ? "" : std::to_string(schedule / 26));
}

// How many times as fast as the unscheduled program the choice is, over the points.
std::string verdict_of(const Sweep& sweep) {
  double least = 1e300, most = 0, logarithms = 0, spread = 0;
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    const double ratio = sweep.schedules[0].us[p] / sweep.schedules[sweep.quickest[p]].us[p];
    spread = std::max(
        {spread, sweep.schedules[0].spread[p], sweep.schedules[sweep.quickest[p]].spread[p]});
    least = std::min(least, ratio);
    most = std::max(most, ratio);
    logarithms += std::log(ratio);
  }
  return fmt::format(
             "The choice is {:.2f} to {:.2f} times as fast as unscheduled, {:.2f} in the "
             "geometric mean.\n",
             least, most, std::exp(logarithms / static_cast<double>(sweep.points.size()))) +
         busy_text(spread);
}

}  // namespace

std::string legend_of(const Sweep& sweep, std::size_t schedule) {
  const Swept& swept = sweep.schedules[schedule];
  const bool named = !swept.schedule.name.empty() && swept.schedule.name != tune::kFoundSchedule;
  const std::string knobs = coconet::text_of(swept.knobs);
  return letter(schedule) + "  " + (named ? swept.schedule.name + ": " : "") +
         summary_of(swept.schedule) + (knobs.empty() ? "" : "  " + knobs);
}

std::string text_of(const SweepReport& report) {
  const Sweep& sweep = report.sweep;
  std::string out =
      fmt::format("{} over {} on {}, {}; {:.0f} s\n\n", report.program.header().program, report.dim,
                  report.others, report.machine, sweep.seconds);
  out += fmt::format("{:>12}", report.dim);
  for (std::size_t s = 0; s < sweep.schedules.size(); ++s) out += fmt::format("{:>11}", letter(s));
  out += "  us; * is chosen\n";
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    out += fmt::format("{:>12}", sweep.points[p]);
    for (std::size_t s = 0; s < sweep.schedules.size(); ++s) {
      const char* mark = sweep.quickest[p] == s ? "*" : " ";
      out += fmt::format("{:>10}{}", us_text(sweep.schedules[s].us[p]), mark);
    }
    out += "\n";
  }
  out += "\n";
  for (std::size_t s = 0; s < sweep.schedules.size(); ++s) {
    out += legend_of(sweep, s) + "\n";
  }
  return out + "\n" + verdict_of(sweep) + "\n" + coconet::text_of(sweep.choice);
}

nlohmann::ordered_json json_of(const SweepReport& report) {
  const Sweep& sweep = report.sweep;
  nlohmann::ordered_json out = {{"program", report.program.header().program},
                                {"dim", report.dim},
                                {"others", report.others},
                                {"machine", report.machine},
                                {"points", sweep.points},
                                {"quickest", sweep.quickest},
                                {"seconds", sweep.seconds},
                                {"schedules", nlohmann::ordered_json::array()},
                                {"choice", coconet::text_of(sweep.choice)}};
  for (const Swept& swept : sweep.schedules) {
    out["schedules"].push_back(
        {{"name", swept.schedule.name},
         {"schedule", swept.schedule.steps.empty() ? "" : coconet::text_of(swept.schedule)},
         {"knobs", coconet::text_of(swept.knobs)},
         {"us", swept.us},
         {"spread", swept.spread}});
  }
  return out;
}

}  // namespace coconet::cli
