#include "cli/load.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "coconet/base/error.h"
#include "coconet/base/nearest.h"
#include "coconet/io/write_file.h"
#include "coconet/plan/staging.h"

namespace coconet::cli {

File load(const FileArguments& arguments, Context& context) {
  File file = read_file(arguments.file, &context.source_text);
  if (file.programs.empty()) {
    throw UserError(ErrorKind::usage, arguments.file +
                                          " has no program; needed is one, as `program "
                                          "p(x: f32[N]) { ... }`");
  }
  if (!arguments.program.empty()) file.program(arguments.program);
  const DTypes dtypes = dtypes_of(arguments);
  for (const auto& [name, kind] : dtypes) {
    if (std::find(file.dtypes.begin(), file.dtypes.end(), name) != file.dtypes.end()) continue;
    throw UserError(ErrorKind::usage, "--dtype: there is no dtype parameter " + name +
                                          suggestion(name, file.dtypes) + "; the file has " +
                                          listed(file.dtypes));
  }
  if (dtypes.empty()) return file;
  return parse_file(context.source_text, arguments.file,
                    {.dtypes = dtypes, .only = arguments.program});
}

Graph bound(const Graph& program, const FileArguments& arguments, const Context& context,
            const DTypes& dtypes) {
  const Header& header = program.header();
  const bool same =
      std::all_of(header.dtypes.begin(), header.dtypes.end(), [&](const DTypeParameter& parameter) {
        const auto found = dtypes.find(parameter.name);
        return found == dtypes.end() || found->second == parameter.kind;
      });
  if (same) return program;
  return parse_file(context.source_text, arguments.file, {.dtypes = dtypes, .only = header.program})
      .program(header.program);
}

const Graph& program_of(const File& file, const FileArguments& arguments) {
  if (arguments.program.empty() && file.programs.size() != 1) {
    std::vector<std::string> names;
    for (const Graph& program : file.programs) names.push_back(program.header().program);
    throw UserError(ErrorKind::usage, "the file has " + std::to_string(names.size()) +
                                          " programs; say which is meant by --program NAME; there "
                                          "are " +
                                          listed(names));
  }
  return file.program(arguments.program);
}

void check_outputs(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  namespace fs = std::filesystem;
  const auto are_one = [](const std::string& a, const std::string& b) {
    std::error_code ignored;
    if (fs::equivalent(a, b, ignored)) return true;
    const fs::path whole = fs::weakly_canonical(a, ignored);
    return !whole.empty() && whole == fs::weakly_canonical(b, ignored);
  };
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i].empty()) continue;
    for (const std::string& file : read) {
      if (!are_one(written[i], file)) continue;
      throw UserError(ErrorKind::usage, written[i] +
                                            " is a file that is read, and would be written "
                                            "over; needed is another");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (written[j].empty() || !are_one(written[i], written[j])) continue;
      throw UserError(ErrorKind::usage, written[j] + " and " + written[i] +
                                            " are one file, and both would be written; needed are "
                                            "two");
    }
    check_writable(written[i]);
  }
}

std::vector<std::string> staged_of(const std::optional<std::string>& option, const Graph& graph) {
  if (!option) return {};
  if (option->empty()) return plan::names_to_stage(graph);
  std::vector<std::string> out;
  std::istringstream names(*option);
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty() || std::find(out.begin(), out.end(), name) != out.end()) {
      throw UserError(ErrorKind::usage,
                      "--staged takes names, as g,p, each once; found '" + *option + "'");
    }
    out.push_back(name);
  }
  return out;
}

DTypes dtypes_of(const FileArguments& arguments) {
  DTypes out;
  for (const auto& [name, value] : pairs_of(arguments.dtypes, "--dtype")) {
    const auto kind = dtype_kind_of(value);
    if (!kind) {
      throw UserError(ErrorKind::usage, "--dtype " + name + ": '" + value +
                                            "' is no dtype; there are " + listed(dtype_names()));
    }
    out[name] = *kind;
  }
  return out;
}

bool is_auto(const File& file, const Graph& program, const std::string& schedule) {
  const auto named = [&](const Schedule& other) {
    return other.name == kAuto && other.program == program.header().program;
  };
  return schedule == kAuto && std::ranges::none_of(file.schedules, named) &&
         !file.choice(program.header().program, schedule);
}

Applied scheduled(const Graph& graph, const File& file, const std::string& schedule,
                  std::optional<std::int64_t> steps) {
  Applied applied = start(graph);
  if (schedule.empty()) return applied;
  if (is_auto(file, graph, schedule)) {
    throw UserError(ErrorKind::usage,
                    "--schedule auto is of run, where sizes are known; tune prints what it finds, "
                    "as a schedule for the file");
  }
  const std::vector<Step>& all = file.schedule(graph.header().program, schedule).steps;
  const auto count = static_cast<std::int64_t>(all.size());
  if (steps && (*steps < 0 || *steps > count)) {
    throw UserError(ErrorKind::usage, "--after " + std::to_string(*steps) + ": schedule " +
                                          schedule + " has steps 0 to " + std::to_string(count));
  }
  for (std::int64_t i = 0; i < steps.value_or(count); ++i) applied = apply(applied, all[i]);
  return applied;
}

}  // namespace coconet::cli
