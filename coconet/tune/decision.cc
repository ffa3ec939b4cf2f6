#include "coconet/tune/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "coconet/graph/print.h"
#include "coconet/kernel/dropout.h"
#include "coconet/runtime/toolchain.h"
#include "coconet/schedule/file.h"
#include "coconet/tune/machine.h"

namespace coconet::tune {
namespace {

constexpr int kVersion = 1;  // of the file, of the search and of the plans

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
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", kVersion, print(program),
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
  nlohmann::json out = {{"key", key},
                        {"schedule", text_of(decision.schedule)},
                        {"chunks", decision.knobs.chunks},
                        {"us", decision.us},
                        {"unscheduled_us", decision.unscheduled_us}};
  if (decision.knobs.one_shot) out["one_shot"] = *decision.knobs.one_shot;
  return out;
}

// Nothing of a file that is not whole, another's, or whose schedule does not apply.
std::optional<Decision> decision_in(const nlohmann::json& json, const std::string& key,
                                    const Graph& program) {
  try {
    if (json.at("key") != key) return std::nullopt;
    Decision out;
    out.schedule = parse_schedule(json.at("schedule").get<std::string>());
    apply(program, out.schedule);
    out.knobs.chunks = json.at("chunks").get<std::vector<std::int64_t>>();
    if (json.contains("one_shot")) out.knobs.one_shot = json.at("one_shot").get<bool>();
    out.us = json.at("us");
    out.unscheduled_us = json.at("unscheduled_us");
    out.from_store = true;
    return out;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const UserErrors&) {
    return std::nullopt;
  }
}

Decision keep_as(const std::string& key, const Tuning& tuning) {
  const Trial& winner = tuning.trials[tuning.winner];
  const Decision out{winner.schedule, winner.knobs, *winner.measured_us,
                     *tuning.trials[tuning.unscheduled].measured_us};
  if (!store_directory().empty()) store(path_of(key), json_of(key, out));
  return out;
}

}  // namespace

Decision keep(const Graph& program, const interp::Setting& setting, const TuneOptions& options,
              const Tuning& tuning) {
  return keep_as(key_of(program, setting, options), tuning);
}

Decision decide(const Graph& program, const execute::GlobalTensors& given,
                const interp::Setting& setting, const TuneOptions& options) {
  const std::string key = key_of(program, setting, options);
  if (!store_directory().empty()) {
    if (std::optional<Decision> kept = decision_in(stored(path_of(key)), key, program)) {
      return *kept;
    }
  }
  return keep_as(key, tune(program, given, setting, options));
}

std::string file_of(const Graph& program, const Decision& decision) {
  const std::string& name = program.header().program;
  Case all{"", 0, "", decision.knobs};
  std::string out = print(program);
  if (!decision.schedule.steps.empty()) {
    all.schedule = "found";
    out += "\n" + text_of(Schedule{all.schedule, name, decision.schedule.steps, {}});
  }
  return out + "\n" + text_of(Choice{"tuned", name, {all}});
}

}  // namespace coconet::tune
