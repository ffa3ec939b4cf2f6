// coconet build FILE -o lib.so --header lib.h: a library for programs in C, or in what calls C.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "coconet/base/error.h"
#include "coconet/io/write_file.h"
#include "coconet/prebuilt/library_text.h"
#include "coconet/runtime/toolchain.h"

namespace coconet::cli {
namespace {

struct BuildArguments {
  FileArguments file;
  std::optional<std::string> staged;
  std::string library, header;
};

// The schedule as a choice of one, or the choice of the file.
prebuilt::Contents contents_of(const BuildArguments& arguments, Context& context) {
  const File file = load(arguments.file, context);
  const Graph& program = program_of(file, arguments.file);
  const std::string& name = program.header().program;
  prebuilt::Contents out{program, {}, {}, staged_of(arguments.staged, program)};
  const std::string& wanted = arguments.file.schedule;
  const Choice* choice = file.choice(name, wanted);
  out.choice = choice ? *choice : Choice{"built", name, {{"", 0, wanted, {}}}};
  if (!choice) scheduled(program, file, wanted);  // refuses what there is not
  for (const Case& one : out.choice.cases) {
    const auto same = [&](const Schedule& other) { return other.name == one.schedule; };
    if (one.schedule.empty() || std::ranges::any_of(out.schedules, same)) continue;
    out.schedules.push_back(file.schedule(name, one.schedule));
  }
  if (!choice && wanted == out.choice.name) out.choice.name += "_by_size";
  return out;
}

int build(const BuildArguments& arguments, Context& context) {
  const prebuilt::Contents contents = contents_of(arguments, context);
  check_outputs({arguments.library, arguments.header}, {arguments.file.file});
  const std::vector<std::string> sources = prebuilt::source_texts(contents);
  runtime::Toolchain().build_library(sources, arguments.library);
  const std::string text = prebuilt::header_text(contents);
  const std::array parts = {std::as_bytes(std::span(text))};
  write_file(arguments.header, parts);
  return 0;
}

}  // namespace

void add_build(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("build", "compile ahead of time: a shared library and its C header");
  auto arguments = std::make_shared<BuildArguments>();
  add_file_options(*command, arguments->file);
  add_name_option(*command, "--schedule", arguments->file.schedule,
                  "a schedule or a choice of the file; none: unscheduled");
  add_staged_option(*command, arguments->staged);
  add_name_option(*command, "-o,--library", arguments->library, "the library, as adam.so")
      ->required();
  add_name_option(*command, "--header", arguments->header, "its header, as adam.h")->required();
  command->callback([arguments, &chosen] {
    chosen = [arguments](Context& context) { return build(*arguments, context); };
  });
}

}  // namespace coconet::cli
