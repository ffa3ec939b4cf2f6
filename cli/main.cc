// The coconet tool.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "coconet/base/error.h"
#include "coconet/program/report.h"

namespace coconet::cli {
namespace {

constexpr const char* kVersion = "coconet 0.1.0";

// With --json the error is an object on stdout too.
int report(const std::string& text, const std::vector<UserError>& errors, bool json) {
  std::fputs((text + (text.ends_with('\n') ? "" : "\n")).c_str(), stderr);
  const UserError& first = errors.front();
  const int code = exit_code_of(first.kind());
  if (json) {
    const nlohmann::json error = {{"kind", name_of(first.kind())},
                                  {"message", first.message()},
                                  {"where", first.where().text()},
                                  {"exit_code", code}};
    std::puts(nlohmann::json{{"error", error}}.dump().c_str());
  }
  return code;
}

int run(const Command& command, bool json) {
  Context context;
  try {
    return command(context);
  } catch (const UserErrors& errors) {
    return report(render(errors, context.source_text), errors.errors(), json);
  } catch (const UserError& error) {
    return report(render(error, context.source_text), {error}, json);
  } catch (const std::bad_alloc&) {
    const UserError error(ErrorKind::runtime, "out of memory; smaller sizes need less");
    return report(error.what(), {error}, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\nthis is a fault of coconet, please report it\n", error.what());
    if (json) {
      const nlohmann::json object = {
          {"kind", "internal"}, {"message", error.what()}, {"where", ""}, {"exit_code", 3}};
      std::puts(nlohmann::json{{"error", object}}.dump().c_str());
    }
    return 3;
  }
}

int main(int argc, char** argv) {
  CLI::App app("CoCoNet: computation and communication of distributed ML programs in one place",
               "coconet");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  Command chosen;
  add_check(app, chosen);
  add_show(app, chosen);
  add_run(app, chosen);
  add_explain(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_code_of(ErrorKind::usage);
  }
  const bool json = std::find_if(argv, argv + argc, [](const char* word) {
                      return std::string_view(word) == "--json";
                    }) != argv + argc;
  return run(chosen, json);
}

}  // namespace
}  // namespace coconet::cli

int main(int argc, char** argv) { return coconet::cli::main(argc, argv); }
