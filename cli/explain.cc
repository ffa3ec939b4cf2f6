// coconet explain FILE [--schedule S --after K] [--step "fuse(rs, body, ag)"]
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "coconet/base/error.h"
#include "coconet/graph/rebind.h"
#include "coconet/schedule/candidates.h"

namespace coconet::cli {
namespace {

struct ExplainArguments {
  FileArguments file;
  std::optional<int> after;
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

// Places of errors would be those of a text that the user never saw.
std::vector<Step> steps_of(const std::string& text, const Graph& graph) {
  try {
    return parse_schedule("schedule step for " + graph.header().program + " { " + text + " }")
        .steps;
  } catch (const UserErrors& errors) {
    throw UserError(ErrorKind::usage, "--step " + text + ": " +
                                          without_brace(errors.errors().front().message(), text));
  }
}

// Each on what the steps before it made, up to the first that does not apply.
std::string explain_steps(Applied applied, const std::vector<Step>& steps) {
  std::string out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    out += explain(applied, steps[i]) + "\n";
    if (i + 1 == steps.size()) break;
    try {
      applied = apply(applied, steps[i]);
    } catch (const UserError&) {
      return out + "the steps after it have nothing to apply to\n";
    }
  }
  return out;
}

int explain_file(const ExplainArguments& arguments, Context& context) {
  const File file = load(arguments.file, context);
  const Graph& program = program_of(file, arguments.file);
  const Graph graph = rebind_dtypes(program, dtypes_of(arguments.file, program));
  if (arguments.after && arguments.file.schedule.empty()) {
    throw UserError(ErrorKind::usage, "--after counts the steps of a --schedule; give one");
  }
  const Applied applied = scheduled(graph, file, arguments.file.schedule, arguments.after);
  std::string out;
  if (!arguments.step.empty()) {
    out = explain_steps(applied, steps_of(arguments.step, graph));
  } else {
    for (const Step& step : legal_steps(applied)) {
      out += explain(applied, step) + "\n";
    }
    if (out.empty()) out = "no step worth a try is legal here\n";
  }
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "explain", "why a step applies or not; without --step, legal ones worth a try");
  auto arguments = std::make_shared<ExplainArguments>();
  add_file_options(*command, arguments->file);
  command->add_option("--schedule", arguments->file.schedule, "after the steps of this schedule");
  command->add_option("--after", arguments->after, "only its first K steps");
  command->add_option("--step", arguments->step, "the step to explain");
  command->callback([arguments, &chosen] {
    chosen = [arguments](Context& context) { return explain_file(*arguments, context); };
  });
}

}  // namespace coconet::cli
