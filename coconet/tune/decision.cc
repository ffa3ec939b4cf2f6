#include "coconet/tune/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "coconet/execute/run.h"
#include "coconet/graph/print.h"
#include "coconet/kernel/dropout.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/runtime/toolchain.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/tune/machine.h"

namespace coconet::tune {
namespace {

constexpr int kVersion = 2;  // of the file, of the search and of the plans

std::string sizes_text(const interp::Setting& setting) {
  std::string out;
  for (const int size : setting.mesh.sizes) out += fmt::format("{},", size);
  for (const auto& [name, size] : setting.sizes) out += fmt::format("{}={},", name, size);
  for (const auto& [name, sizes] : setting.sizes.lists) {
    out += name + "=";
    for (const std::int64_t size : sizes) out += fmt::format("{},", size);
  }
  return out;
}

std::string key_of(const Graph& program, const interp::Setting& setting,
                   const TuneOptions& options) {
  std::string schedules;
  for (const Schedule& schedule : options.schedules) schedules += text_of(schedule);
  return fmt::format("{}\n{}{}\n{}\n{}\n{}\n{}\n{}\n{}", kVersion, print(program), schedules,
                     sizes_text(setting), options.threads, options.search.allow_reassociation,
                     fmt::format("{}", fmt::join(options.staged, ",")), machine_text(),
                     runtime::Toolchain().identity());
}

std::filesystem::path path_of(const std::string& key) {
  std::uint64_t hash = 0;
  for (const char c : key) hash = kernel::mix(hash ^ static_cast<unsigned char>(c));
  return store_directory() / fmt::format("tuned-{:016x}.json", hash);
}

nlohmann::json json_of(const std::string& key, const Decision& decision) {
  const bool plain = decision.schedule.steps.empty();
  nlohmann::json out = {{"key", key},
                        {"schedule", plain ? "" : text_of(decision.schedule)},
                        {"chunks", decision.knobs.chunks},
                        {"us", decision.us},
                        {"unscheduled_us", decision.unscheduled_us},
                        {"spread", decision.spread}};
  if (decision.knobs.one_shot) out["one_shot"] = *decision.knobs.one_shot;
  if (decision.knobs.threads > 0) out["threads"] = decision.knobs.threads;
  return out;
}

bool is_time(double us) { return us > 0 && us < 1e15; }

bool is_spread(double spread) { return spread >= 0 && spread < 1e6; }

int threads_in(const nlohmann::json& json) {
  const bool is_number = json.is_number_integer() && json >= 0 && json <= Knobs::kMostThreads;
  return is_number ? json.get<int>() : -1;  // which is refused
}

// Throws UserError unless schedule and knobs are of the program.
void need_legal(const Decision& decision, const Graph& program, const TuneOptions& options) {
  if (decision.schedule.program != program.header().program) {
    throw UserError(ErrorKind::data, "a decision for " + decision.schedule.program +
                                         "; needed is one for " + program.header().program);
  }
  const Applied applied = apply(program, decision.schedule);
  const bool exact = applied.exactness == Exactness::exact;
  if (!exact && !options.search.allow_reassociation) {
    throw UserError(ErrorKind::data, "a decision that reassociates; needed is an exact one");
  }
  plan::check_chunks(plan::from_schedule(applied.graph, {.schedule = "", .staged = options.staged}),
                     decision.knobs.chunks);
  execute::need_threads(decision.knobs.threads);
}

// Nothing of a file that is not whole, another's, or does not apply.
std::optional<Decision> decision_in(const nlohmann::json& json, const std::string& key,
                                    const Graph& program, const TuneOptions& options) {
  try {
    if (json.at("key") != key) return std::nullopt;
    Decision out;
    const std::string text = json.at("schedule");
    out.schedule.program = program.header().program;
    if (!text.empty()) out.schedule = parse_schedule(text);
    out.knobs.chunks = json.at("chunks").get<std::vector<std::int64_t>>();
    if (json.contains("one_shot")) out.knobs.one_shot = json.at("one_shot").get<bool>();
    if (json.contains("threads")) out.knobs.threads = threads_in(json.at("threads"));
    out.us = json.at("us");
    out.unscheduled_us = json.at("unscheduled_us");
    out.spread = json.at("spread");
    out.from_store = true;
    need_legal(out, program, options);
    const bool times = is_time(out.us) && is_time(out.unscheduled_us) && is_spread(out.spread);
    return times ? std::optional(out) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const UserErrors&) {
    return std::nullopt;
  }
}

Decision keep_as(const std::string& key, const Graph& program, const TuneOptions& options,
                 const Tuning& tuning) {
  const Trial& winner = tuning.trials[tuning.winner];
  const Trial& plain = tuning.trials[tuning.unscheduled];
  Decision out{winner.schedule, winner.knobs, *winner.measured_us, *plain.measured_us,
               std::max(winner.spread, plain.spread)};
  if (store_directory().empty()) return out;
  const std::optional<Decision> before = decision_in(stored(path_of(key)), key, program, options);
  out.kept = !before || out.spread <= kNoisy || before->spread > kNoisy;
  if (out.kept) store(path_of(key), json_of(key, out));
  return out;
}

}  // namespace

Decision keep(const Graph& program, const interp::Setting& setting, const TuneOptions& options,
              const Tuning& tuning) {
  return keep_as(key_of(program, setting, options), program, options, tuning);
}

Decision decide(const Graph& program, const execute::GlobalTensors& given,
                const interp::Setting& setting, const TuneOptions& options) {
  const std::string key = key_of(program, setting, options);
  if (!store_directory().empty()) {
    if (std::optional<Decision> kept = decision_in(stored(path_of(key)), key, program, options)) {
      return *kept;
    }
  }
  return keep_as(key, program, options, tune(program, given, setting, options));
}

}  // namespace coconet::tune
