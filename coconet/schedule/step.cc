#include "coconet/schedule/step.h"

namespace coconet {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string text_of(const StepArgument& argument) {
  if (const std::string* name = std::get_if<std::string>(&argument)) return *name;
  if (const Slice* slice = std::get_if<Slice>(&argument)) return slice->text();
  return "[" + joined(std::get<std::vector<std::string>>(argument)) + "]";
}

}  // namespace

std::string text_of(const Step& step) {
  std::string arguments;
  for (const StepArgument& argument : step.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + text_of(argument);
  }
  const std::string results = step.results.empty() ? "" : joined(step.results) + " = ";
  return results + step.verb + "(" + arguments + ")";
}

std::string text_of(const Schedule& schedule) {
  std::string out = "schedule " + schedule.name + " for " + schedule.program + " {\n";
  for (const Step& step : schedule.steps) out += "  " + text_of(step) + "\n";
  return out + "}\n";
}

}  // namespace coconet
