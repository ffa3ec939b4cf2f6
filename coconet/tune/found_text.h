// What tuning found, as text for the user's file.
#pragma once

#include <string>
#include <vector>

#include "coconet/schedule/file.h"
#include "coconet/tune/decision.h"
#include "coconet/tune/sweep.h"

namespace coconet::tune {

// Schedules of one program, and a choice among them and those of the file.
struct Found {
  std::vector<Schedule> schedules;
  Choice choice;
};
Found found_of(const Graph& program, const Decision& decision);  // "found", "tuned"
Found found_of(const Sweep& sweep);                              // "from_4096" and so on, "tuned"

// Without the schedules that the file has, and under names that it has not: "tuned_2" if there is a
// "tuned".
Found for_file(Found found, const File& file);

// To be appended: the comment, then schedules and choice, a line between them.
std::string text_of(const Found& found, const std::string& comment);

}  // namespace coconet::tune
