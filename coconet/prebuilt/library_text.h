// The texts of a library that is built ahead of time: a C header, and the sources.
#pragma once

#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/plan/plan.h"
#include "coconet/schedule/file.h"

namespace coconet::prebuilt {

// What goes into a library: schedules that sizes pick from.
struct Contents {
  Graph program;
  std::vector<Schedule> schedules;
  Choice choice;
  std::vector<std::string> staged = {};  // as PlanOptions::staged
};

// The plan that a library has a module of: made of its text when it is built, and again when a rank
// joins. `schedule`: of the file's only program; "": unscheduled. UserError for a schedule that is
// not there, does not apply or has no plan.
plan::Plan plan_of(const File& file, const std::string& schedule,
                   const std::vector<std::string>& staged);

// C, and C++: <program>_join and so on, each with what it takes and gives.
std::string header_text(const Contents& contents);
// The functions of the header first, then a module for each schedule of the choice. UserError for a
// schedule that does not apply or has no plan, or for knobs that it has not.
std::vector<std::string> source_texts(const Contents& contents);

}  // namespace coconet::prebuilt
