// coconet check FILE [--plan]: parse and type-check, apply every schedule, print the typed program.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/report.h"
#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/plan/verify.h"

namespace coconet::cli {
namespace {

struct CheckArguments {
  FileArguments file;
  bool plan = false;
};

std::string verified(const plan::Plan& plan) {
  const auto [cases, too_large] = plan::verify_small(plan);
  std::string found =
      cases > 0 ? "verified on " + std::to_string(cases) + " meshes, sizes and numbers of chunks"
                : "NOT verified: the program allows none of the small sizes that were tried";
  if (too_large > 0) {
    found += "; " + std::to_string(too_large) + " more, where a slice (*) has several blocks, " +
             "would take too many elements";
  }
  return plan::print(plan) + "# " + found + "\n\n";
}

// Each case has as many numbers of chunks as its schedule has groups.
std::string checked(const Choice& choice, const Graph& graph, const File& file,
                    std::vector<UserError>& errors) {
  for (const Case& one : choice.cases) {
    try {
      const Applied applied = scheduled(graph, file, one.schedule);
      plan::check_chunks(plan::from_schedule(applied.graph), one.knobs.chunks);
    } catch (const UserError& error) {
      errors.push_back(error.at(one.where));
    }
  }
  return "# choice " + choice.name + ": " + counted(choice.cases.size(), "case") + "\n";
}

// Programs print with types; a schedule that does not apply is an error, and all of them are
// reported.
int check_file(const CheckArguments& arguments, Context& context) {
  const File file = load(arguments.file, context);
  std::vector<UserError> errors;
  std::string out;
  for (const Graph& graph : file.programs) {
    const std::string& name = graph.header().program;
    if (!arguments.file.program.empty() && name != arguments.file.program) continue;
    out += print(graph, true) + "\n";
    const plan::Plan unscheduled = plan::from_schedule(graph);
    if (arguments.plan) out += verified(unscheduled);
    for (const Schedule& schedule : file.schedules) {
      if (schedule.program != name) continue;
      try {
        const Applied applied = scheduled(graph, file, schedule.name);
        const plan::Plan plan = plan::from_schedule(applied.graph, {.schedule = schedule.name});
        out += "# schedule " + schedule.name + ": " + counted(schedule.steps.size(), "step") +
               ", " + counted(plan.launches.size(), "kernel") + ", " +
               (applied.exactness == Exactness::exact ? "exact" : "reassociates") + "\n";
        for (const std::string& note : plan.notes) out += "#   " + note + "\n";
        if (arguments.plan) out += verified(plan);
      } catch (const UserError& error) {
        out += "# schedule " + schedule.name + ": does not apply\n";
        errors.push_back(error.at(schedule.where));
      }
    }
    for (const Choice& choice : file.choices) {
      if (choice.program == name) out += checked(choice, graph, file, errors);
    }
  }
  std::fputs(out.c_str(), stdout);
  if (!errors.empty()) throw UserErrors(std::move(errors));
  return 0;
}

}  // namespace

void add_check(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("check", "parse and type-check; print the typed program");
  auto arguments = std::make_shared<CheckArguments>();
  add_file_options(*command, arguments->file);
  add_flag_option(*command, "--plan", arguments->plan,
                  "print the plan of each schedule too, and verify it");
  command->callback([arguments, &chosen] {
    chosen = [arguments](Context& context) { return check_file(*arguments, context); };
  });
}

}  // namespace coconet::cli
