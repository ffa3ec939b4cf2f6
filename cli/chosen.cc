#include "cli/chosen.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/progress.h"
#include "cli/run_inputs.h"

namespace coconet::cli {

std::string options_text(const Knobs& knobs) {
  std::string out;
  for (std::size_t i = 0; i < knobs.chunks.size(); ++i) {
    out += (i == 0 ? "--chunks " : ",") + std::to_string(knobs.chunks[i]);
  }
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  if (knobs.one_shot) add(*knobs.one_shot ? "--protocol one-shot" : "--protocol direct");
  if (knobs.threads > 0) add("--threads " + std::to_string(knobs.threads));
  return out;
}

std::string busy_text(double spread) {
  if (spread <= tune::kNoisy) return "";
  return fmt::format(
      "Some rounds took {:.0f} % longer than others: something else ran here. `coconet tune`, when "
      "it is quiet, replaces this decision.\n",
      100 * spread);
}

namespace {

tune::Decision decided(const Graph& program, const execute::GlobalTensors& given,
                       const interp::Setting& setting, tune::TuneOptions options, bool bar) {
  const Progress progress(bar);
  options.progress = [&](const std::string& what, double done) { progress.show(what, done); };
  return tune::decide(program, given, setting, options);
}

// Where `typed` has none, those that were found.
Knobs merged(const Knobs& typed, const Knobs& found) {
  return {typed.chunks.empty() ? found.chunks : typed.chunks,
          typed.one_shot ? typed.one_shot : found.one_shot,
          typed.threads > 0 ? typed.threads : found.threads};
}

void tell(const tune::Decision& decision, const Knobs& used) {
  const std::string knobs = options_text(decision.knobs);
  const bool plain = decision.schedule.steps.empty();
  std::string text = fmt::format("coconet: --schedule auto ({}): ",
                                 decision.from_store ? "as tuned before" : "tuned now");
  if (plain) {
    text += "the unscheduled program is the quickest";
  } else {
    text +=
        fmt::format("{:.2f} times as fast as unscheduled", decision.unscheduled_us / decision.us);
  }
  text += knobs.empty() ? "" : ", with " + knobs;
  if (used != decision.knobs) text += "; run with " + options_text(used) + ", as typed";
  text += "\n";
  if (const std::string busy = busy_text(decision.spread); !busy.empty()) {
    text += "coconet: " + busy;
  }
  if (!plain) text += coconet::text_of(decision.schedule);
  std::fputs(text.c_str(), stderr);
}

}  // namespace

Chosen choose(const File& file, const Graph& program, const std::string& name,
              const execute::GlobalTensors& given, const interp::Setting& setting,
              const tune::TuneOptions& options, const Knobs& typed, bool bar) {
  if (is_auto(file, program, name)) {
    const tune::Decision decision = decided(program, given, setting, options, bar);
    Knobs knobs = merged(typed, decision.knobs);
    knobs.threads = decision.knobs.threads;  // found among the threads that were typed
    tell(decision, knobs);
    return {apply(program, decision.schedule), decision.schedule.name, knobs};
  }
  const Choice* choice = file.choice(program.header().program, name);
  if (!choice) return {scheduled(program, file, name), name, typed};
  const Case& one = pick(*choice, setting.sizes);
  return {scheduled(program, file, one.schedule), one.schedule, merged(typed, one.knobs)};
}

std::vector<Schedule> own_schedules(const File& file, const Graph& program) {
  std::vector<Schedule> out;
  for (const Schedule& schedule : file.schedules) {
    if (schedule.program == program.header().program) out.push_back(schedule);
  }
  return out;
}

}  // namespace coconet::cli
