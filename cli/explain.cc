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
  int after = -1;
  std::string step;
};

int explain_file(const ExplainArguments& arguments, Context& context) {
  const File file = load(arguments.file, context);
  const Graph graph = rebind_dtypes(program_of(file, arguments.file), dtypes_of(arguments.file));
  const Applied applied = scheduled(graph, file, arguments.file.schedule, arguments.after);
  std::string out;
  if (!arguments.step.empty()) {
    const Schedule wanted = parse_schedule("schedule step for " + graph.header().program + " { " +
                                           arguments.step + " }");
    for (const Step& step : wanted.steps) out += explain(applied, step) + "\n";
  } else {
    for (const Step& step : legal_steps(applied)) {
      out += explain(applied, step) + "\n";
    }
    if (out.empty()) out = "no step is legal here\n";
  }
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("explain", "why a step applies or not; without --step, every legal one");
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
