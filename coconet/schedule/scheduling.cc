#include "coconet/schedule/scheduling.h"

#include "coconet/program/lexer.h"

namespace coconet {
namespace {

std::string named(const StepName& name, const Where& where) {
  if (!name.text().empty()) return name.text();
  throw UserError(ErrorKind::schedule,
                  "this tensor has no name; a step takes values that have one, as "
                  "p.let(\"total\", value) gives",
                  where);
}

std::vector<std::string> texts_of(const std::vector<StepName>& names, const CallSite& at) {
  std::vector<std::string> out;
  for (const StepName& name : names) out.push_back(named(name, at.where));
  return out;
}

template <class... Arguments>
std::vector<StepArgument> list_of(Arguments... arguments) {
  std::vector<StepArgument> out;
  (out.emplace_back(std::move(arguments)), ...);
  return out;
}

}  // namespace

Scheduling::Scheduling(std::string name, const Graph& graph, At at)
    : before_(start(graph)), after_(before_) {
  schedule_.name = std::move(name);
  schedule_.program = graph.header().program;
  schedule_.where = at.where;
}

Scheduling::Written Scheduling::add(std::string verb, std::vector<StepArgument> arguments,
                                    const At& at) {
  Step step;
  step.verb = std::move(verb);
  step.arguments = std::move(arguments);
  step.where = at.where;
  Applied after = apply(after_, step);
  before_ = std::move(after_);
  after_ = std::move(after);
  schedule_.steps.push_back(std::move(step));
  return Written(this, schedule_.steps.size() - 1);
}

void Scheduling::name_results(std::size_t step, std::vector<std::string> names) {
  Step named = schedule_.steps.at(step);
  const auto refuse = [&](const std::string& why) {
    throw UserError(ErrorKind::schedule, text_of(named) + ": " + why, named.where);
  };
  if (step + 1 != schedule_.steps.size()) refuse("its results are named before the next step");
  for (const std::string& name : names) {
    if (!syntax::is_name(name)) refuse("`" + name + "` is not a name");
  }
  named.results = std::move(names);
  after_ = apply(before_, named);
  schedule_.steps.back() = std::move(named);
}

Scheduling::Written Scheduling::split(const StepName& all_reduce, At at) {
  return add("split", list_of(named(all_reduce, at.where)), at);
}

Scheduling::Written Scheduling::split(const StepName& all_reduce, const Slice& slice, At at) {
  return add("split", list_of(named(all_reduce, at.where), slice), at);
}

Scheduling::Written Scheduling::split(const StepName& all_reduce, const std::string& kind,
                                      std::optional<Slice> slice, At at) {
  std::vector<StepArgument> arguments = list_of(named(all_reduce, at.where));
  if (slice) arguments.emplace_back(*slice);
  arguments.emplace_back(kind);
  return add("split", std::move(arguments), at);
}

Scheduling::Written Scheduling::distribute(const StepName& value, std::optional<Slice> slice,
                                           const std::string& axis, At at) {
  std::vector<StepArgument> arguments = list_of(named(value, at.where));
  if (slice) arguments.emplace_back(*slice);
  if (!axis.empty()) arguments.emplace_back(axis);
  return add("distribute", std::move(arguments), at);
}

Scheduling::Written Scheduling::reorder(const StepName& gather,
                                        const std::vector<StepName>& operations, At at) {
  return add("reorder", list_of(named(gather, at.where), texts_of(operations, at)), at);
}

Scheduling::Written Scheduling::reorder(const std::vector<StepName>& gathers,
                                        const std::vector<StepName>& operations, At at) {
  return add("reorder", list_of(texts_of(gathers, at), texts_of(operations, at)), at);
}

Scheduling::Written Scheduling::as_slice(const StepName& state, At at) {
  return add("as_slice", list_of(named(state, at.where)), at);
}

Scheduling::Written Scheduling::as_rooted(const StepName& state, At at) {
  return add("as_rooted", list_of(named(state, at.where)), at);
}

Scheduling::Written Scheduling::dead(const StepName& gather, At at) {
  return add("dead", list_of(named(gather, at.where)), at);
}

Scheduling::Written Scheduling::fuse(const std::vector<StepName>& parts, At at) {
  const std::vector<std::string> names = texts_of(parts, at);
  return add("fuse", std::vector<StepArgument>(names.begin(), names.end()), at);
}

Scheduling::Written Scheduling::overlap(const std::vector<StepName>& stages, At at) {
  const std::vector<std::string> names = texts_of(stages, at);
  return add("overlap", std::vector<StepArgument>(names.begin(), names.end()), at);
}

}  // namespace coconet
