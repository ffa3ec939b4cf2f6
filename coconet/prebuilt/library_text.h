// The texts of a library that is built ahead of time: a C header, and the sources.
#pragma once

#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/schedule/choice.h"
#include "coconet/schedule/step.h"

namespace coconet::prebuilt {

// What goes into a library: schedules that sizes pick from.
struct Contents {
  Graph program;
  std::vector<Schedule> schedules;
  Choice choice;
  std::vector<std::string> staged = {};  // as PlanOptions::staged
};

// C, and C++: <program>_join and so on, each with what it takes and gives.
std::string header_text(const Contents& contents);
// The functions of the header first, then a module for each schedule of the choice. UserError for a
// schedule that does not apply or has no plan, or for knobs that it has not.
std::vector<std::string> source_texts(const Contents& contents);

}  // namespace coconet::prebuilt
