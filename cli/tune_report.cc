#include "cli/tune_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/chosen.h"
#include "cli/report.h"
#include "coconet/schedule/candidates.h"
#include "coconet/schedule/obstacles.h"
#include "coconet/type/members_text.h"

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
  const bool won = &trial == &tuning.trials[tuning.winner];
  std::string out = fmt::format("{}{:>10} {:>10}", won ? "*" : " ", us_text(*trial.measured_us),
                                us_text(trial.predicted_us));
  out += fmt::format(" {:>8.2f}  ", plain / *trial.measured_us);
  const std::string knobs = options_text(trial.knobs);
  out += summary_of(trial.schedule) + (knobs.empty() ? "" : "  " + knobs);
  if (!trial.refused.empty()) out += "  REFUSED, " + trial.refused;
  return out + "\n";
}

std::string table_of(const Tuning& tuning) {
  std::string out = "         us  predicted    ratio  schedule; * has won\n";
  std::size_t unmeasured = 0;
  bool final = true;
  for (const Trial& trial : tuning.trials) {
    if (trial.measured_us) {
      if (final && !trial.is_final) {
        out += " measured before the final round, to which the closest went on, and out:\n";
      }
      final = trial.is_final;
      out += line_of(tuning, trial);
    } else if (++unmeasured <= kMostUnmeasured) {
      out += fmt::format(" {:>10} {:>10} {:>8}  {}\n", "-", us_text(trial.predicted_us), "-",
                         summary_of(trial.schedule));
    }
  }
  if (unmeasured > kMostUnmeasured) {
    out += fmt::format("and {} more that were not measured\n", unmeasured - kMostUnmeasured);
  }
  return out;
}

nlohmann::ordered_json json_of(const Trial& trial) {
  nlohmann::ordered_json out = {{"schedule", steps_text(trial)},
                                {"steps", nlohmann::ordered_json::array()},
                                {"chunks", trial.knobs.chunks},
                                {"protocol", !trial.knobs.one_shot   ? "auto"
                                             : *trial.knobs.one_shot ? "one-shot"
                                                                     : "direct"},
                                {"threads", trial.knobs.threads},
                                {"exact", trial.exactness == Exactness::exact},
                                {"predicted_us", trial.predicted_us},
                                {"refused", trial.refused}};
  out["spread"] = trial.spread;
  out["final"] = trial.is_final;
  for (const Step& step : trial.schedule.steps) out["steps"].push_back(coconet::text_of(step));
  out["us"] =
      trial.measured_us ? nlohmann::ordered_json(*trial.measured_us) : nlohmann::ordered_json();
  return out;
}

}  // namespace

std::string us_text(double us) {
  return us < 1000 ? fmt::format("{:.4g}", us) : fmt::format("{:.0f}", us);
}

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

std::string sizes_text(const Graph& program, const interp::Setting& setting) {
  std::string out;
  const Mesh& mesh = program.mesh();
  for (int axis = 0; axis < mesh.size(); ++axis) {
    out += fmt::format("{}{}={}", axis > 0 ? "," : "", mesh.axes[axis], setting.mesh.sizes[axis]);
  }
  for (const std::string& dim : program.header().dims) {
    const auto size = setting.sizes.find(dim);
    const auto list = setting.sizes.lists.find(dim);
    if (size != setting.sizes.end()) out += fmt::format(" {}={}", dim, size->second);
    if (list != setting.sizes.lists.end()) out += " " + dim + "=" + members_text(list->second);
  }
  return out;
}

std::string verdict_of(const TuneReport& report) {
  const Tuning& tuning = report.tuning;
  const Trial& winner = tuning.trials[tuning.winner];
  const Trial& plain = tuning.trials[tuning.unscheduled];
  const std::string knobs = options_text(winner.knobs);
  std::string with = knobs.empty() ? "" : "With " + knobs + " as options of run.\n";
  const bool first = tuning.winner == 0 || !tuning.trials[0].refused.empty();
  if (!first) {
    with += fmt::format(
        "The first line took {:.1f} % less, which is not worth it: steps must gain 1 %, "
        "knobs 3 % more.\n",
        100 * (1 - *tuning.trials[0].measured_us / *winner.measured_us));
  }
  with += busy_text(std::max(winner.spread, plain.spread));
  if (winner.schedule.steps.empty()) {
    return (first ? "The unscheduled program is the quickest.\n"
                  : "Nothing gains enough over the unscheduled program.\n") +
           with;
  }
  const std::string out =
      fmt::format("{} us, {:.2f} times as fast as the unscheduled program ({} us, {}; now {}).\n",
                  us_text(*winner.measured_us), *plain.measured_us / *winner.measured_us,
                  us_text(*plain.measured_us),
                  counted(static_cast<std::size_t>(plain.launches), "kernel"), winner.launches);
  return out + with + "\n" + coconet::text_of(winner.schedule);
}

std::string picked_text(const Tuning& tuning) {
  if (!tuning.picked) return "";
  const Trial& picked = tuning.trials[*tuning.picked];
  const std::string knobs = options_text(picked.knobs);
  return fmt::format("without --exhaustive the choice is {}{}: {:.3f} times the winner's time\n",
                     summary_of(picked.schedule), knobs.empty() ? "" : " with " + knobs,
                     *picked.measured_us / *tuning.trials[tuning.winner].measured_us);
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
                                sizes_text(report.program, report.setting), report.machine);
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
  if (!tuning.drawn.empty()) {
    out += fmt::format("drawn from the seed: {}", fmt::join(tuning.drawn, ", ")) +
           "; values can change times: --in gives yours\n";
  }
  for (const std::string& line : tuning.left_out) out += "not measured: " + line + "\n";
  return out + picked_text(tuning) + "\n" + table_of(tuning) + "\n" + verdict_of(report) +
         blocked_text(report);
}

nlohmann::ordered_json json_of(const TuneReport& report) {
  const Tuning& tuning = report.tuning;
  nlohmann::ordered_json out = {{"program", report.program.header().program},
                                {"mesh", mesh_json(report.program.mesh(), report.setting)},
                                {"dims", dims_json(report.program.header().dims, report.setting)},
                                {"drawn", tuning.drawn},
                                {"machine", report.machine},
                                {"left_out", tuning.left_out},
                                {"graphs", tuning.graphs},
                                {"pruned", tuning.pruned},
                                {"complete", tuning.complete},
                                {"search_ms", tuning.search_ms},
                                {"compile_ms", tuning.compile_ms},
                                {"measure_ms", tuning.measure_ms},
                                {"winner", tuning.winner},
                                {"unscheduled", tuning.unscheduled},
                                {"trials", nlohmann::ordered_json::array()}};
  if (tuning.rank_correlation) out["rank_correlation"] = *tuning.rank_correlation;
  if (tuning.picked) out["picked"] = *tuning.picked;
  for (const Trial& trial : tuning.trials) out["trials"].push_back(json_of(trial));
  const Schedule& winner = tuning.trials[tuning.winner].schedule;
  out["schedule"] = winner.steps.empty() ? "" : coconet::text_of(winner);
  return out;
}

}  // namespace coconet::cli
