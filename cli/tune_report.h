// What a tuning found, as a table for people or as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "coconet/tune/tune.h"

namespace coconet::cli {

struct TuneReport {
  Graph program;
  interp::Setting setting;
  std::vector<std::string> staged;
  std::string machine;  // and threads
  tune::Tuning tuning;
};

// "3.87", "211", "15551": four digits and no exponent.
std::string us_text(double us);

// Steps in short, by which a reader tells schedules apart:
// "split(total) reorder(6) as_slice(m,v) fuse(rs, body, gather3)".
std::string summary_of(const Schedule& schedule);

std::string sizes_text(const Graph& program, const interp::Setting& setting);  // "dp=2 N=65536"
std::string verdict_of(const TuneReport& report);  // who won, by how much, the schedule
// If all was measured: how close the usual choice comes, a line; "": it was not.
std::string picked_text(const tune::Tuning& tuning);
std::string blocked_text(const TuneReport& report);  // what stands against more steps; "": nothing

std::string text_of(const TuneReport& report);
nlohmann::ordered_json json_of(const TuneReport& report);

}  // namespace coconet::cli
