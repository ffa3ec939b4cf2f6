#include "cli/tune_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/chosen.h"
#include "coconet/schedule/candidates.h"
#include "coconet/schedule/obstacles.h"

namespace coconet::cli {
namespace {

using tune::Trial;
using tune::Tuning;

constexpr std::size_t kMostUnmeasured = 5;  // lines

std::string steps_text(const Trial& trial) {
  if (trial.schedule.steps.empty()) return "unscheduled";
  std::string out;
  for (const Step& step : trial.schedule.steps) {
    out += (out.empty() ? "" : "; ") + coconet::text_of(step);
  }
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

std::string line_of(const Tuning& tuning, const Trial& trial) {
  const double plain = *tuning.trials[tuning.unscheduled].measured_us;
  std::string out = fmt::format("{:>10.4g} {:>10.4g}", *trial.measured_us, trial.predicted_us);
  out += fmt::format(" {:>8.2f}  ", plain / *trial.measured_us);
  const std::string knobs = options_text(trial.knobs);
  out += summary_of(trial.schedule) + (knobs.empty() ? "" : "  " + knobs);
  if (!trial.refused.empty()) out += "  REFUSED, " + trial.refused;
  return out + "\n";
}

std::string table_of(const Tuning& tuning) {
  std::string out = "        us  predicted    ratio  schedule\n";
  std::size_t unmeasured = 0;
  for (const Trial& trial : tuning.trials) {
    if (trial.measured_us) {
      out += line_of(tuning, trial);
    } else if (++unmeasured <= kMostUnmeasured) {
      out += fmt::format("{:>10} {:>10.4g} {:>8}  {}\n", "-", trial.predicted_us, "-",
                         summary_of(trial.schedule));
    }
  }
  if (unmeasured > kMostUnmeasured) {
    out += fmt::format("and {} more that were not measured\n", unmeasured - kMostUnmeasured);
  }
  return out;
}

nlohmann::json json_of(const Trial& trial) {
  nlohmann::json out = {{"schedule", steps_text(trial)},
                        {"steps", nlohmann::json::array()},
                        {"chunks", trial.knobs.chunks},
                        {"protocol", !trial.knobs.one_shot   ? "auto"
                                     : *trial.knobs.one_shot ? "one-shot"
                                                             : "direct"},
                        {"exact", trial.exactness == Exactness::exact},
                        {"predicted_us", trial.predicted_us},
                        {"refused", trial.refused}};
  for (const Step& step : trial.schedule.steps) out["steps"].push_back(coconet::text_of(step));
  out["us"] = trial.measured_us ? nlohmann::json(*trial.measured_us) : nlohmann::json();
  return out;
}

}  // namespace

std::string summary_of(const Schedule& schedule) {
  if (schedule.steps.empty()) return "unscheduled";
  std::string out;
  std::vector<std::string> slices;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  const auto add_slices = [&] {
    if (!slices.empty()) add("as_slice(" + joined(slices) + ")");
    slices.clear();
  };
  for (Step step : schedule.steps) {
    if (step.verb == "dead") continue;  // follows from the rest
    if (step.verb == "as_slice") {
      slices.push_back(std::get<std::string>(step.arguments[0]));
      continue;
    }
    add_slices();
    step.results.clear();
    if (step.verb == "reorder") {
      const auto& moved = std::get<std::vector<std::string>>(step.arguments.back());
      add(fmt::format("reorder({})", moved.size()));
    } else {
      add(coconet::text_of(step));
    }
  }
  add_slices();
  return out;
}

std::string sizes_text(const TuneReport& report) {
  std::string out;
  const Mesh& mesh = report.program.mesh();
  for (int axis = 0; axis < mesh.size(); ++axis) {
    out += fmt::format("{}{}={}", axis > 0 ? "," : "", mesh.axes[axis],
                       report.setting.mesh.sizes[axis]);
  }
  for (const std::string& dim : report.program.header().dims) {
    const auto size = report.setting.sizes.find(dim);
    if (size != report.setting.sizes.end()) out += fmt::format(" {}={}", dim, size->second);
  }
  return out;
}

std::string verdict_of(const TuneReport& report) {
  const Tuning& tuning = report.tuning;
  const Trial& winner = tuning.trials[tuning.winner];
  const Trial& plain = tuning.trials[tuning.unscheduled];
  const std::string knobs = options_text(winner.knobs);
  const std::string with = knobs.empty() ? "" : "With " + knobs + " as options of run.\n";
  if (winner.schedule.steps.empty()) return "The unscheduled program is the quickest.\n" + with;
  const std::string out = fmt::format(
      "{:.3g} us, {:.2f} times as fast as the unscheduled program ({:.3g} us, {} "
      "launches; now {}).\n",
      *winner.measured_us, *plain.measured_us / *winner.measured_us, *plain.measured_us,
      plain.launches, winner.launches);
  return out + with + "\n" + coconet::text_of(winner.schedule);
}

std::string blocked_text(const TuneReport& report) {
  const Trial& winner = report.tuning.trials[report.tuning.winner];
  const Applied applied = apply(report.program, winner.schedule);
  const std::vector<std::string> lines = obstacles(applied, legal_steps(applied));
  std::string out = lines.empty() ? "" : "\nBlocked after it:\n";
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out;
}

std::string text_of(const TuneReport& report) {
  const Tuning& tuning = report.tuning;
  std::string out = fmt::format("{} on {}, {}\n", report.program.header().program,
                                sizes_text(report), report.machine);
  out += fmt::format(
      "{} schedules in {:.2f} s ({} not followed, as the model found others cheaper{}), compiled "
      "in "
      "{:.1f} s, measured in {:.1f} s\n",
      tuning.graphs, tuning.search_ms / 1e3, tuning.pruned,
      tuning.complete ? "" : "; there are more", tuning.compile_ms / 1e3, tuning.measure_ms / 1e3);
  if (tuning.rank_correlation) {
    out += fmt::format("order of predicted and measured times: rank correlation {:.2f}\n",
                       *tuning.rank_correlation);
  }
  return out + "\n" + table_of(tuning) + "\n" + verdict_of(report) + blocked_text(report);
}

std::string json_of(const TuneReport& report) {
  const Tuning& tuning = report.tuning;
  nlohmann::json out = {{"program", report.program.header().program},
                        {"machine", report.machine},
                        {"graphs", tuning.graphs},
                        {"pruned", tuning.pruned},
                        {"complete", tuning.complete},
                        {"search_ms", tuning.search_ms},
                        {"compile_ms", tuning.compile_ms},
                        {"measure_ms", tuning.measure_ms},
                        {"winner", tuning.winner},
                        {"unscheduled", tuning.unscheduled},
                        {"trials", nlohmann::json::array()}};
  if (tuning.rank_correlation) out["rank_correlation"] = *tuning.rank_correlation;
  for (const Trial& trial : tuning.trials) out["trials"].push_back(json_of(trial));
  out["schedule"] = coconet::text_of(tuning.trials[tuning.winner].schedule);
  return out.dump(2) + "\n";
}

}  // namespace coconet::cli
