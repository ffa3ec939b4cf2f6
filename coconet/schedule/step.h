// A schedule is data: a list of steps, printable, parseable, hashable, replayable.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/type/layout.h"

namespace coconet {

// A name; a bracketed list of names; a slice. As written: names are resolved when the schedule is
// applied.
using StepArgument = std::variant<std::string, std::vector<std::string>, Slice>;

// `rs, ag = split(total)`: verb, arguments, and the names that its results get.
struct Step {
  std::string verb;
  std::vector<StepArgument> arguments;
  std::vector<std::string> results;
  Where where;
  friend bool operator==(const Step& a, const Step& b) {
    return a.verb == b.verb && a.arguments == b.arguments && a.results == b.results;
  }
};

struct Schedule {
  std::string name;
  std::string program;  // the program it is for
  std::vector<Step> steps;
  Where where;
  friend bool operator==(const Schedule& a, const Schedule& b) {
    return a.name == b.name && a.program == b.program && a.steps == b.steps;
  }
};

std::string text_of(const Step& step);
std::string text_of(const Schedule& schedule);  // the text form, parses back

}  // namespace coconet
