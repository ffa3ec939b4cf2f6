// What tuning found, as one HTML page that needs no other file.
#pragma once

#include <string>

#include "cli/sweep_report.h"
#include "cli/tune_report.h"

namespace coconet::cli {

// The verdict, the schedule, every trial, where the time goes, and both programs, coloured by
// placement.
std::string page_of(const TuneReport& report);
// The plot, the table and the file.
std::string page_of(const SweepReport& report);

}  // namespace coconet::cli
