// The coconet tool.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>

#include "cli/commands.h"
#include "cli/report.h"
#include "coconet/base/error.h"
#include "coconet/base/nearest.h"
#include "coconet/program/report.h"

namespace coconet::cli {
namespace {

constexpr const char* kVersion = "coconet 0.1.0";

// With --json the error is an object on stdout too.
int report(const std::string& text, const UserError& first, bool json) {
  std::fputs((text + (text.ends_with('\n') ? "" : "\n")).c_str(), stderr);
  const int code = exit_code_of(first.kind());
  if (json) {
    std::fputs(json_of_error(std::string(name_of(first.kind())), first.message(),
                             first.where().text(), code)
                   .c_str(),
               stdout);
  }
  return code;
}

int report(const UserError& error, const Context& context, bool json) {
  return report(render(error, context.source_text), error, json);
}

int report_fault(const std::exception& error, bool json) {
  std::fprintf(stderr, "%s\nthis is a fault of coconet, please report it\n", error.what());
  const int code = exit_code_of(ErrorKind::runtime);
  if (json) std::fputs(json_of_error("internal", error.what(), "", code).c_str(), stdout);
  return code;
}

int run(const Command& command, bool json) {
  Context context;
  try {
    return command(context);
  } catch (const UserErrors& errors) {
    return report(render(errors, context.source_text), errors.errors().front(), json);
  } catch (const UserError& error) {
    return report(error, context, json);
  } catch (const std::bad_alloc&) {
    return report({ErrorKind::runtime, "out of memory; smaller sizes need less"}, context, json);
  } catch (const std::length_error&) {
    return report({ErrorKind::runtime, "out of memory; smaller sizes need less"}, context, json);
  } catch (const std::exception& error) {
    return report_fault(error, json);
  }
}

// What is wrong with the arguments; CLI11 does not say which option was misspelt.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::vector<const CLI::App*> parsed = app.get_subcommands(
      std::function<bool(const CLI::App*)>([](const CLI::App* sub) { return sub->parsed(); }));
  if (parsed.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* sub :
         app.get_subcommands(std::function<bool(const CLI::App*)>([](auto*) { return true; }))) {
      names.push_back(sub->get_name());
    }
    const std::string found = argc > 1 ? argv[1] : "";
    return (found.empty() ? "a command is needed" : "there is no command " + found) +
           suggestion(found, names) + "; there are " + listed(names) + " (coconet --help)";
  }
  const CLI::App& sub = *parsed.front();
  const std::string help = " (coconet " + sub.get_name() + " --help)";
  std::vector<std::string> options;
  for (const CLI::Option* option : sub.get_options()) {
    if (!option->get_lnames().empty()) options.push_back("--" + option->get_lnames().front());
  }
  for (int i = 2; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (!word.starts_with("--") || word == "--") continue;
    if (std::find(options.begin(), options.end(), word) != options.end()) continue;
    return "there is no option " + word + " of " + sub.get_name() + suggestion(word, options) +
           help;
  }
  return error.what() + help;
}

int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("error: standard output cannot be written\n", stderr);
  return exit_code_of(ErrorKind::runtime);
}

int main(int argc, char** argv) {
  // Ignored by some parents; then the ends of ranks and compilers could not be told.
  std::signal(SIGCHLD, SIG_DFL);
  CLI::App app("CoCoNet: computation and communication of distributed ML programs in one place",
               "coconet");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  Command chosen;
  add_check(app, chosen);
  add_show(app, chosen);
  add_run(app, chosen);
  add_explain(app, chosen);
  const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return flushed(report({ErrorKind::usage, usage_text(app, error, argc, argv)}, {}, json));
  }
  return flushed(run(chosen, json));
}

}  // namespace
}  // namespace coconet::cli

int main(int argc, char** argv) { return coconet::cli::main(argc, argv); }
