#include "coconet/schedule/scheduler.h"

namespace coconet {
namespace {

// Tensors without a name stand for nothing in a schedule.
void need_names(const std::vector<StepArgument>& arguments, const std::string& verb,
                const Where& where) {
  for (const StepArgument& argument : arguments) {
    std::vector<std::string> names;
    if (const std::string* name = std::get_if<std::string>(&argument)) names = {*name};
    if (const auto* list = std::get_if<std::vector<std::string>>(&argument)) names = *list;
    for (const std::string& name : names) {
      if (!name.empty()) continue;
      throw UserError(ErrorKind::schedule,
                      verb +
                          ": a tensor without a name cannot stand in a step; name it with "
                          "`let` in the program",
                      where);
    }
  }
}

// The value, the slice if there is one, and further words.
std::vector<StepArgument> with_slice(const Part& part, const std::optional<Slice>& slice,
                                     const std::vector<std::string>& words = {}) {
  std::vector<StepArgument> arguments;
  arguments.reserve(2 + words.size());
  arguments.emplace_back(part.name());
  if (slice) arguments.emplace_back(*slice);
  for (const std::string& word : words) arguments.emplace_back(word);
  return arguments;
}

}  // namespace

Scheduler::Scheduler(const Program& program, const std::string& name)
    : Scheduler(program.graph(), name) {}

Scheduler::Scheduler(const Graph& graph, const std::string& name)
    : applied_(start(graph)), schedule_{name, graph.header().program, {}, {}} {}

std::vector<Part> Scheduler::take(const std::string& verb, std::vector<StepArgument> arguments,
                                  const std::vector<std::string>& wanted, At at) {
  const Where where = where_of(at);
  need_names(arguments, verb, where);
  Step step{verb, std::move(arguments), {}, where};
  for (const std::string& name : wanted) {
    step.results.push_back(result_name(applied_, name, step.results));
  }
  applied_ = apply(applied_, step);
  std::vector<Part> results;
  for (const std::string& name : step.results) results.emplace_back(name);
  schedule_.steps.push_back(std::move(step));
  return results;
}

StepArgument Scheduler::list_of(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name());
  if (names.size() == 1) return names[0];
  return names;
}

std::array<Part, 2> Scheduler::split(const Part& all_reduce, std::optional<Slice> slice, At at) {
  return as_array<2>(take("split", with_slice(all_reduce, slice), {"rs", "ag"}, at));
}

std::array<Part, 2> Scheduler::split_reduce_broadcast(const Part& all_reduce, At at) {
  return as_array<2>(take("split", with_slice(all_reduce, std::nullopt, {"reduce_broadcast"}),
                          {"reduced", "whole"}, at));
}

std::array<Part, 3> Scheduler::split_hierarchical(const Part& all_reduce,
                                                  std::optional<Slice> slice, At at) {
  return as_array<3>(
      take("split", with_slice(all_reduce, slice, {"hierarchical"}), {"rs", "ar", "ag"}, at));
}

std::array<Part, 2> Scheduler::distribute(const Part& value, std::optional<Slice> slice,
                                          const Axes& axes, At at) {
  return as_array<2>(take("distribute", with_slice(value, slice, axes), {"piece", "whole"}, at));
}

void Scheduler::as_slice(const Part& state, At at) { take("as_slice", {state.name()}, {}, at); }
void Scheduler::as_rooted(const Part& state, At at) { take("as_rooted", {state.name()}, {}, at); }
void Scheduler::dead(const Part& gather, At at) { take("dead", {gather.name()}, {}, at); }

}  // namespace coconet
