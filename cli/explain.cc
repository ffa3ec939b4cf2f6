// coconet explain FILE [--schedule S --after K] [--step "fuse(rs, body, ag)"]
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "coconet/base/error.h"
#include "coconet/schedule/candidates.h"
#include "coconet/schedule/obstacles.h"

namespace coconet::cli {
namespace {

struct ExplainArguments {
  FileArguments file;
  std::optional<std::int64_t> after;
  std::string step;
};

// The brace that ends the schedule around the steps is none of the user's.
std::string without_brace(std::string message, const std::string& text) {
  const std::string found = "found `}`";
  if (text.find('}') == std::string::npos && message.starts_with(found)) {
    message.replace(0, found.size(), "found the end of the step");
  }
  return message;
}

// A line of its own ends the steps, for a comment may end them.
// Places of errors would be those of a text that the user never saw.
std::vector<Step> steps_of(const std::string& text, const Graph& graph) {
  try {
    return parse_schedule("schedule step for " + graph.header().program + " { " + text + "\n}")
        .steps;
  } catch (const UserErrors& errors) {
    throw UserError(ErrorKind::usage, "--step `" + text + "`: " +
                                          without_brace(errors.errors().front().message(), text));
  }
}

// Prints of each step, on what the steps before it made, whether it applies, up to the first that
// does not. The exit code: 1 if one does not, as of a schedule with that step.
int explain_steps(Applied applied, const std::vector<Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::puts(explain(applied, steps[i]).c_str());
    try {
      applied = apply(applied, steps[i]);
    } catch (const UserError& error) {
      if (i + 1 < steps.size()) std::puts("the steps after it have nothing to apply to");
      return exit_code_of(error.kind());
    }
  }
  return 0;
}

int explain_file(const ExplainArguments& arguments, Context& context) {
  const File file = load(arguments.file, context);
  const Graph& graph = program_of(file, arguments.file);
  if (arguments.after && arguments.file.schedule.empty()) {
    throw UserError(ErrorKind::usage, "--after counts the steps of a --schedule; give one");
  }
  const Applied applied = scheduled(graph, file, arguments.file.schedule, arguments.after);
  if (!arguments.step.empty()) return explain_steps(applied, steps_of(arguments.step, graph));
  const std::vector<LegalStep> steps = legal_steps(applied);
  for (const std::string& line : listing(steps)) std::puts(line.c_str());
  if (steps.empty()) std::puts("no step worth a try is legal here");
  for (const std::string& line : obstacles(applied, steps)) std::puts(line.c_str());
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "why a step applies or not; without --step, legal ones worth a try, and what keeps "
      "the operations that none of them fuses or moves");
  auto arguments = std::make_shared<ExplainArguments>();
  add_file_options(*command, arguments->file);
  add_name_option(*command, "--schedule", arguments->file.schedule,
                  "after the steps of this schedule");
  command->add_option("--after", arguments->after, "only its first K steps")->check(integer_needed);
  add_name_option(*command, "--step", arguments->step,
                  "the step to explain; the exit code is 1 if it does not apply");
  command->callback([arguments, &chosen] {
    chosen = [arguments](Context& context) { return explain_file(*arguments, context); };
  });
}

}  // namespace coconet::cli
