// The coconet tool.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "cli/commands.h"
#include "cli/report.h"
#include "coconet/base/error.h"
#include "coconet/base/nearest.h"
#include "coconet/program/report.h"
#include "coconet/runtime/rank_error.h"

namespace coconet::cli {
namespace {

constexpr const char* kVersion = "coconet 0.1.0";

// Prints the text; with --json the errors are an object on stdout too. The exit code of the first.
int report(const std::string& text, const std::vector<ReportedError>& errors, bool json) {
  std::fputs((text + (text.ends_with('\n') ? "" : "\n")).c_str(), stderr);
  if (json) std::fputs(json_of_errors(errors).c_str(), stdout);
  return errors.front().exit_code;
}

int report(const UserError& error, const Context& context, bool json) {
  return report(render(error, context.source_text), {reported(error)}, json);
}

int report(const UserErrors& all, const Context& context, bool json) {
  std::vector<ReportedError> errors;
  for (const UserError& error : all.errors()) errors.push_back(reported(error));
  return report(render(all, context.source_text), errors, json);
}

int report_fault(const std::exception& error, bool json) {
  return report(error.what() + std::string("\nthis is a fault of coconet, please report it"),
                {{"internal", error.what(), "", exit_code_of(ErrorKind::runtime)}}, json);
}

int run(const Command& command, bool json) {
  Context context;
  try {
    return command(context);
  } catch (const UserErrors& errors) {
    return report(errors, context, json);
  } catch (const UserError& error) {
    return report(error, context, json);
  } catch (const std::bad_alloc&) {
    return report(UserError{ErrorKind::runtime, "out of memory; smaller sizes need less"}, context,
                  json);
  } catch (const std::length_error&) {
    return report(UserError{ErrorKind::runtime, "out of memory; smaller sizes need less"}, context,
                  json);
  } catch (const std::system_error&) {
    const std::string what = runtime::rank_error_of(std::current_exception()).message;
    return report(UserError{ErrorKind::runtime, what}, context, json);
  } catch (const std::exception& error) {
    return report_fault(error, json);
  }
}

constexpr std::size_t kStack = 512 << 10;

bool has_room() {
  void* room = mmap(nullptr, 2 * kStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, 2 * kStack);
  return true;
}

[[noreturn]] void end_without_memory() {
  constexpr std::string_view kText = "error: out of memory; smaller sizes need less\n";
  std::fwrite(kText.data(), 1, kText.size(), stderr);  // without a buffer
  _exit(exit_code_of(ErrorKind::runtime));
}

// Where an error cannot be raised for want of memory: in a destructor, or as there is none for it.
[[noreturn]] void terminate() {
  try {
    if (!std::current_exception() && !has_room()) end_without_memory();
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ended by an error in the middle of another: %s\n", error.what());
  }
  std::abort();
}

// A stack that cannot grow, as a limit of memory (ulimit -v) is met, ends a process by a signal and
// without a word: so it grows now.
__attribute__((noinline)) void grow_stack() {
  [[maybe_unused]] volatile char room[kStack];
  for (std::size_t at = kStack; at > 0; at -= 1024) room[at - 1] = 0;
}

// What the system does to a process by a signal becomes an error with words where it can be.
void prepare_process() {
  // Ignored by some parents; then the ends of ranks and compilers could not be told.
  std::signal(SIGCHLD, SIG_DFL);
  // Of a file that grows beyond ulimit -f; then writing says it.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(terminate);
  if (!has_room()) end_without_memory();
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= 2 * kStack) grow_stack();
}

std::string no_command(const CLI::App& app, const std::string& found) {
  std::vector<std::string> names;
  for (const CLI::App* sub :
       app.get_subcommands(std::function<bool(const CLI::App*)>([](auto*) { return true; }))) {
    names.push_back(sub->get_name());
  }
  return (found.empty() ? "a command is needed" : "there is no command " + found) +
         suggestion(found, names) + "; there are " + listed(names) + " (coconet --help)";
}

// The first word that is no option of the command; "" if there is none.
std::string unknown_option(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_lnames().empty()) options.push_back("--" + option->get_lnames().front());
  }
  for (const std::string& text : words) {
    const std::string word = text.substr(0, text.find('='));
    if (!word.starts_with("--") || word == "--") continue;
    if (std::find(options.begin(), options.end(), word) != options.end()) continue;
    return "there is no option " + word + " of " + command.get_name() + suggestion(word, options);
  }
  return "";
}

// What is wrong with the arguments of a command whose options all exist.
std::string misuse(const CLI::App& command, const CLI::ParseError& error) {
  const std::string name = command.get_name(), what = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    // Its text begins with what is missing.
    const std::string missing = what.substr(0, what.find(' '));
    if (missing.starts_with("-")) return name + " needs " + missing;
    return "a .coco file is needed, as coconet " + name + " FILE";
  }
  const std::vector<std::string> rest = command.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !rest.empty()) {
    if (rest[0].starts_with('-')) return "there is no option " + rest[0] + " of " + name;
    return "found '" + rest[0] + "' after the file; " + name +
           " takes one file, and options by name";
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    const std::string option = what.substr(0, what.find_first_of(": "));
    if (what.find("flag override") != std::string::npos) {
      return (option.starts_with("--") ? "" : "--") + option +  // CLI11 names it without
             " takes no value; give it, or leave it out";
    }
    const CLI::Option* given = command.get_option_no_throw(option);
    const std::size_t times = given ? given->count() : 0;
    if (times < 2) return option + " needs a value after it";
    return option + " is given " + std::to_string(times) +
           (given->get_expected_min() == 0 ? " times; once is enough"
                                           : " times; it takes one value");
  }
  return what;
}

// What is wrong with the arguments, in our words.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& words) {
  const std::vector<const CLI::App*> parsed = app.get_subcommands(
      std::function<bool(const CLI::App*)>([](const CLI::App* sub) { return sub->parsed(); }));
  if (parsed.empty()) return no_command(app, words.empty() ? "" : words[0]);
  const CLI::App& command = *parsed.front();
  const std::string unknown = unknown_option(command, words);
  return (unknown.empty() ? misuse(command, error) : unknown) + " (coconet " + command.get_name() +
         " --help)";
}

int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("error: standard output cannot be written\n", stderr);
  return exit_code_of(ErrorKind::runtime);
}

// The first word that gives an option nothing, `--out=`, for which the next word would be taken.
std::string without_value(const std::vector<std::string>& words) {
  const auto empty = std::ranges::find_if(words, [](const std::string& word) {
    return word.starts_with("--") && word.find('=') == word.size() - 1;
  });
  return empty == words.end() ? "" : *empty;
}

int main(int argc, char** argv) {
  prepare_process();
  CLI::App app("CoCoNet: computation and communication of distributed ML programs in one place",
               "coconet");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  Command chosen;
  add_check(app, chosen);
  add_show(app, chosen);
  add_run(app, chosen);
  add_explain(app, chosen);
  add_tune(app, chosen);
  add_build(app, chosen);
  const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto misused = [&](const std::string& text) {
    return flushed(report(UserError{ErrorKind::usage, text}, {}, json));
  };
  if (const std::string empty = without_value(words); !empty.empty()) {
    return misused(empty + " is empty; leave it out, or give a value");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return misused(usage_text(app, error, words));
  }
  return flushed(run(chosen, json));
}

}  // namespace
}  // namespace coconet::cli

int main(int argc, char** argv) { return coconet::cli::main(argc, argv); }
