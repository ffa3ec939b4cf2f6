// What a tuning found, as a table for people or as JSON.
#pragma once

#include <string>

#include "coconet/tune/tune.h"

namespace coconet::cli {

struct TuneReport {
  Graph program;
  interp::Setting setting;
  std::string machine;
  tune::Tuning tuning;
};

// Steps in short, by which a reader tells schedules apart:
// "split(total) reorder(6) as_slice(m,v) fuse(rs, body, gather3)".
std::string summary_of(const Schedule& schedule);

std::string sizes_text(const TuneReport& report);    // "dp=2 N=65536"
std::string verdict_of(const TuneReport& report);    // who won, by how much, the schedule
std::string blocked_text(const TuneReport& report);  // what stands against more steps; "": nothing

std::string text_of(const TuneReport& report);
std::string json_of(const TuneReport& report);

}  // namespace coconet::cli
