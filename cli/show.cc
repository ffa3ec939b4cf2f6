// coconet show FILE [--schedule S] --as graph|plan|cpp|dot
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/source/cpp/from_plan.h"

namespace coconet::cli {
namespace {

struct ShowArguments {
  FileArguments file;
  std::string as = "graph";
  std::optional<std::string> staged;
};

std::string text_of(const ShowArguments& arguments, Context& context) {
  const File file = load(arguments.file, context);
  const Graph& graph = program_of(file, arguments.file);
  const Graph shown = scheduled(graph, file, arguments.file.schedule).graph;
  if (arguments.staged && (arguments.as == "graph" || arguments.as == "dot")) {
    throw UserError(ErrorKind::usage, "--staged is of plans; found --as " + arguments.as +
                                          ", which shows none; needed is --as plan or --as cpp");
  }
  if (arguments.as == "graph") return print(shown, true);
  if (arguments.as == "dot") return dot(shown);
  const plan::Plan plan = plan::from_schedule(
      shown, {.schedule = arguments.file.schedule, .staged = staged_of(arguments.staged, shown)});
  return arguments.as == "plan" ? plan::print(plan) : source::cpp::from_plan(plan);
}

}  // namespace

void add_show(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("show", "print the graph, plan or generated source");
  auto arguments = std::make_shared<ShowArguments>();
  add_file_options(*command, arguments->file);
  add_name_option(*command, "--schedule", arguments->file.schedule, "a schedule of the file");
  add_staged_option(*command, arguments->staged);
  command->add_option("--as", arguments->as, "graph, plan, cpp or dot")
      ->check([](const std::string& text) {
        const bool known = text == "graph" || text == "plan" || text == "cpp" || text == "dot";
        return known ? "" : "needed is graph, plan, cpp or dot; found '" + text + "'";
      })
      ->capture_default_str();
  command->callback([arguments, &chosen] {
    chosen = [arguments](Context& context) {
      std::fputs(text_of(*arguments, context).c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace coconet::cli
