#include "coconet/tune/found_text.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace coconet::tune {
namespace {

std::string free_name(const std::string& wanted, const std::set<std::string>& taken) {
  std::string out = wanted;
  for (int number = 2; taken.contains(out); ++number) out = wanted + "_" + std::to_string(number);
  return out;
}

}  // namespace

Found found_of(const Graph& program, const Decision& decision) {
  Found out;
  Case all{"", 0, "", decision.knobs};
  if (!decision.schedule.steps.empty()) {
    Schedule schedule = decision.schedule;
    if (schedule.name == kFoundSchedule) schedule.name = "found";
    all.schedule = schedule.name;
    out.schedules.push_back(std::move(schedule));
  }
  out.choice = {"tuned", program.header().program, {all}};
  return out;
}

Found found_of(const Sweep& sweep) {
  Found out{{}, sweep.choice};
  for (const Swept& swept : sweep.schedules) {
    const auto used = [&](const Case& one) {
      return !one.schedule.empty() && one.schedule == swept.schedule.name;
    };
    const bool there = std::ranges::count(out.schedules, swept.schedule) > 0;  // with other knobs
    if (!there && std::ranges::any_of(sweep.choice.cases, used)) {
      out.schedules.push_back(swept.schedule);
    }
  }
  return out;
}

Found for_file(Found found, const File& file) {
  std::set<std::string> taken;
  const std::string& program = found.choice.program;
  for (const Schedule& schedule : file.schedules) {
    if (schedule.program == program) taken.insert(schedule.name);
  }
  for (const Choice& choice : file.choices) {
    if (choice.program == program) taken.insert(choice.name);
  }
  std::erase_if(found.schedules,
                [&](const Schedule& each) { return std::ranges::count(file.schedules, each) > 0; });
  for (Schedule& schedule : found.schedules) {
    const std::string name = free_name(schedule.name, taken);
    for (Case& one : found.choice.cases) {
      if (one.schedule == schedule.name) one.schedule = name;
    }
    schedule.name = name;
    taken.insert(name);
  }
  found.choice.name = free_name(found.choice.name, taken);
  return found;
}

std::string text_of(const Found& found, const std::string& comment) {
  std::string out;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) out += "# " + line + "\n";
  for (const Schedule& schedule : found.schedules) out += coconet::text_of(schedule) + "\n";
  return out + coconet::text_of(found.choice);
}

}  // namespace coconet::tune
