#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>

#include "coconet/base/error.h"
#include "coconet/runtime/cores.h"
#include "coconet/runtime/workers.h"

namespace coconet::cli {
namespace {

// What a check of CLI11 gives: "", or what is needed.
template <class Read>
std::string refusal_of(const Read& read, const std::string& text) {
  try {
    read(text, "");
    return "";
  } catch (const UserError& error) {
    return error.message().substr(1);
  }
}

}  // namespace

CLI::Option* add_name_option(CLI::App& app, const char* option, std::string& to, const char* help) {
  return app.add_option(option, to, help)->check([](const std::string& text) {
    if (text.empty()) return std::string("it is empty; leave it out, or give a value");
    if (text.starts_with("--")) return "needed is a value; found the option '" + text + "'";
    return std::string();
  });
}

CLI::Option* add_flag_option(CLI::App& app, const char* option, bool& to, const char* help) {
  return app.add_flag(option, to, help)
      ->disable_flag_override()
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

std::string integer_needed(const std::string& text) { return refusal_of(integer_of, text); }
std::string number_needed(const std::string& text) { return refusal_of(number_of, text); }

void add_file_options(CLI::App& app, FileArguments& arguments) {
  app.add_option("file", arguments.file, "the .coco file")->required();
  app.add_option("--program", arguments.program, "which program of the file");
  app.add_option("--dtype", arguments.dtypes, "binds a dtype parameter, as T=f32")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_staged_option(CLI::App& app, std::optional<std::string>& to) {
  app.add_option_function<std::vector<std::string>>(
         "--staged",
         [&to](const std::vector<std::string>& found) { to = found.empty() ? "" : found[0]; },
         "inputs, states and outputs in memory of the ranks' own, not of the runtime: "
         "g,p: these; alone, behind FILE: all but scalars")
      ->expected(0, 1)
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

namespace {

// What a call is made on: mesh, sizes, inputs.
void add_call_options(CLI::App& app, RunArguments& arguments) {
  add_file_options(app, arguments.file);
  const auto list = [&](const char* name, std::vector<std::string>& to, const char* help) {
    app.add_option(name, to, help)->delimiter(',')->allow_extra_args(false);
  };
  app.add_option("--ranks", arguments.ranks, "how many ranks, on a mesh of one axis")
      ->check(integer_needed);
  app.add_option("--threads", arguments.threads,
                 "threads of each rank; not given: as many as have a core")
      ->check(integer_needed);
  list("--mesh", arguments.mesh, "the size of each axis, as pp=2,tp=2");
  app.add_option("--dim", arguments.dims, "sizes of dims, as B=8,S=128; of a list's, N_i=5,1027")
      ->allow_extra_args(false);
  list("--scalar", arguments.scalars, "values of scalars, as lr=1e-3");
  app.add_option("--in", arguments.inputs,
                 "FILE.safetensors: every input of a name in it; or x=FILE.npy, "
                 "x=FILE.safetensors:NAME[0:2]")
      ->allow_extra_args(false);
  app.add_option("--seed", arguments.seed, "of dropout and of inputs that are not given")
      ->check([](const std::string& text) {
        std::uint64_t seed = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
        const bool whole = error == std::errc{} && end == text.data() + text.size();
        return whole ? "" : "must be a whole number from 0 to 2^64 - 1; found '" + text + "'";
      })
      ->capture_default_str();
  app.add_option("--timeout", arguments.timeout, "seconds to wait for a living rank")
      ->check(number_needed)
      ->capture_default_str();
  add_flag_option(app, "--json", arguments.json, "one JSON object on stdout");
}

}  // namespace

void add_run_options(CLI::App& app, RunArguments& arguments) {
  add_call_options(app, arguments);
  add_name_option(app, "--schedule", arguments.file.schedule,
                  "a schedule of the file; auto: what tuning finds; none: unscheduled");
  add_name_option(app, "--protocol", arguments.protocol,
                  "one-shot: each rank computes all of what is small; direct; auto, the default, "
                  "lets the tool choose");
  add_name_option(app, "--out", arguments.out,
                  "a folder for each output and state, as a global tensor");
  app.add_option("--want", arguments.wants,
                 "out=FILE[:NAME]: the value an output or state must have")
      ->allow_extra_args(false);
  app.add_option("--bound", arguments.bounds,
                 "ABS[,REL]: |got - want| <= ABS + REL |want|; one for every --want, in order, or "
                 "one for all")
      ->allow_extra_args(false);
  app.add_option("--chunks", arguments.chunks,
                 "chunks of each overlapped group, in order; 0, the default, lets the tool choose")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(integer_needed);
  add_staged_option(app, arguments.staged);
  app.add_option("--repeat", arguments.repeat, "calls to time, each from the same inputs")
      ->check(integer_needed)
      ->capture_default_str();
  add_flag_option(app, "--verify", arguments.verify,
                  "compare with the interpreter and with the unscheduled program");
  add_flag_option(app, "--one-process", arguments.one_process,
                  "ranks as threads of one process instead of processes");
}

void add_tune_options(CLI::App& app, TuneArguments& arguments) {
  add_call_options(app, arguments.run);
  add_staged_option(app, arguments.run.staged);
  add_flag_option(app, "--exhaustive", arguments.exhaustive,
                  "measure every schedule that the search reaches: minutes");
  add_flag_option(app, "--allow-reassociation", arguments.allow_reassociation,
                  "schedules too whose results are not bit-equal to the unscheduled program's");
  add_name_option(app, "--sweep", arguments.sweep,
                  "over sizes of a dim, as N=2^10..2^26, by powers of two: which schedule from "
                  "where on");
  add_name_option(app, "--out", arguments.run.out,
                  "a file for the program's file with what was found, which run takes");
  add_name_option(app, "--plot", arguments.plot,
                  "with --sweep: an SVG file, time by size of each schedule");
  add_name_option(app, "--report", arguments.report,
                  "a folder for index.html: what was found, as a page");
}

std::chrono::milliseconds timeout_of(const RunArguments& arguments) {
  const double seconds = arguments.timeout;
  if (!(seconds > 0)) {
    throw UserError(ErrorKind::usage, "--timeout must be a number of seconds above 0");
  }
  constexpr double kLongest = 1e9;
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::max(1.0, 1e3 * std::min(seconds, kLongest))));
}

int threads_of(const RunArguments& arguments, int ranks) {
  if (!arguments.threads) return runtime::threads_with_cores(ranks);
  if (*arguments.threads < 1 || *arguments.threads > runtime::kMostThreads) {
    throw UserError(ErrorKind::usage, "--threads must be from 1 to " +
                                          std::to_string(runtime::kMostThreads) + "; found " +
                                          std::to_string(*arguments.threads));
  }
  return static_cast<int>(*arguments.threads);
}

std::vector<std::pair<std::string, std::string>> pairs_of(const std::vector<std::string>& parts,
                                                          const std::string& option,
                                                          bool empty_values) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    const bool empty = equals + 1 == part.size();
    if (equals == std::string::npos || equals == 0 || (empty && !empty_values)) {
      throw UserError(ErrorKind::usage, option + " takes NAME=VALUE; found '" + part + "'");
    }
    const std::string name = part.substr(0, equals);
    for (const auto& [other, value] : out) {
      if (other == name) {
        throw UserError(ErrorKind::usage, option + " gives " + name + " twice");
      }
    }
    out.emplace_back(name, part.substr(equals + 1));
  }
  return out;
}

std::int64_t integer_of(const std::string& text, const std::string& what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    const bool wide = error == std::errc::result_out_of_range && end == text.data() + text.size();
    throw UserError(ErrorKind::usage, what + " must be a whole number" +
                                          (wide ? " of 63 bits" : "") + "; found '" + text + "'");
  }
  return value;
}

double number_of(const std::string& text, const std::string& what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    const bool far = error == std::errc::result_out_of_range && end == text.data() + text.size();
    throw UserError(ErrorKind::usage, what + " must be a number" +
                                          (far ? " that a double holds" : "") + "; found '" + text +
                                          "'");
  }
  return value;
}

}  // namespace coconet::cli
