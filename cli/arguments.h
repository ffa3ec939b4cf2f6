// What the subcommands take from the command line, as typed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coconet/base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coconet::cli {

// An option that may not be empty, as an unset variable of a shell is.
CLI::Option* add_name_option(CLI::App& app, const char* option, std::string& to, const char* help);
// Checks of CLI11: "" for a number, else what is needed.
// An option without a value, given once: `--verify=no` is refused.
CLI::Option* add_flag_option(CLI::App& app, const char* option, bool& to, const char* help);
std::string integer_needed(const std::string& text);
std::string number_needed(const std::string& text);
// The file, and which program and schedule of it.
struct FileArguments {
  std::string file;
  std::string program;              // "": the only one
  std::string schedule;             // "": unscheduled
  std::vector<std::string> dtypes;  // "T=f32"
};
void add_file_options(CLI::App& app, FileArguments& arguments);

// `--staged`: "", every tensor; `--staged g,p`: these.
void add_staged_option(CLI::App& app, std::optional<std::string>& to);

struct RunArguments {
  FileArguments file;
  std::optional<std::int64_t> ranks;    // of a mesh of one axis
  std::optional<std::int64_t> threads;  // of a rank
  std::vector<std::string> mesh;        // "pp=2"
  std::vector<std::string> dims;        // "B=8"
  std::vector<std::string> scalars;     // "lr=1e-3"
  std::vector<std::string> inputs;      // "FILE.safetensors" or "x=FILE..."
  std::vector<std::string> wants;       // "out=FILE[:name]"
  std::vector<std::string> bounds;      // "ABS[,REL]", one for each --want, or one for all
  std::vector<std::int64_t> chunks;
  std::optional<std::string> staged;  // see add_staged_option
  std::string out;
  std::string protocol;  // "one-shot", "direct", "auto"; "": auto
  std::uint64_t seed = 0;
  std::int64_t repeat = 1;
  double timeout = 1800;  // seconds
  bool verify = false, one_process = false, json = false;
};
void add_run_options(CLI::App& app, RunArguments& arguments);

// UserError(usage) unless --timeout is a time.
std::chrono::milliseconds timeout_of(const RunArguments& arguments);
// Of each rank: --threads, or as many as have a core. UserError(usage) for no number of threads.
int threads_of(const RunArguments& arguments, int ranks);

struct TuneArguments {
  RunArguments run;    // those of its options that tune has too
  std::string sweep;   // "N=2^10..2^26"
  std::string plot;    // a file
  std::string report;  // a folder
  bool exhaustive = false, allow_reassociation = false;
};
void add_tune_options(CLI::App& app, TuneArguments& arguments);

// "B=8,S=128" and repeated options alike: name and value of each. UserError(usage) for a part
// without '=' or, but for `empty_values`, without a value.
std::vector<std::pair<std::string, std::string>> pairs_of(const std::vector<std::string>& parts,
                                                          const std::string& option,
                                                          bool empty_values = false);
// Does `action`; its errors name the option.
template <class Action>
void with_option(const std::string& option, const Action& action) {
  try {
    action();
  } catch (const UserError& error) {
    throw UserError(error.kind(), option + ": " + error.message());
  }
}
std::int64_t integer_of(const std::string& text, const std::string& what);
double number_of(const std::string& text, const std::string& what);

}  // namespace coconet::cli
