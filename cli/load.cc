#include "cli/load.h"

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/base/nearest.h"

namespace coconet::cli {

File load(const FileArguments& arguments, Context& context) {
  File file = read_file(arguments.file, &context.source_text);
  if (!arguments.program.empty()) file.program(arguments.program);
  std::vector<std::string> known;
  for (const Graph& program : file.programs) {
    for (const DTypeParameter& parameter : program.header().dtypes) {
      if (std::find(known.begin(), known.end(), parameter.name) == known.end()) {
        known.push_back(parameter.name);
      }
    }
  }
  for (const auto& [name, value] : pairs_of(arguments.dtypes, "--dtype")) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UserError(ErrorKind::usage, "--dtype: there is no dtype parameter " + name +
                                          suggestion(name, known) + "; the file has " +
                                          listed(known));
  }
  return file;
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

std::map<std::string, DTypeKind> dtypes_of(const FileArguments& arguments, const Graph& program) {
  const std::vector<DTypeParameter>& parameters = program.header().dtypes;
  std::map<std::string, DTypeKind> out;
  for (const auto& [name, value] : pairs_of(arguments.dtypes, "--dtype")) {
    const auto kind = dtype_kind_of(value);
    if (!kind) {
      throw UserError(ErrorKind::usage, "--dtype " + name + ": '" + value +
                                            "' is no dtype; there are f16, bf16, f32, f64, i32, "
                                            "i64 and bool");
    }
    const auto is_it = [&](const DTypeParameter& parameter) { return parameter.name == name; };
    if (std::any_of(parameters.begin(), parameters.end(), is_it)) out[name] = *kind;
  }
  return out;
}

Applied scheduled(const Graph& graph, const File& file, const std::string& schedule,
                  std::optional<int> steps) {
  Applied applied = start(graph);
  if (schedule.empty()) return applied;
  if (schedule == "auto") {
    throw UserError(ErrorKind::usage,
                    "--schedule auto needs the tuner, which this version does not have; name a "
                    "schedule of the file");
  }
  const std::vector<Step>& all = file.schedule(graph.header().program, schedule).steps;
  const int count = static_cast<int>(all.size());
  if (steps && (*steps < 0 || *steps > count)) {
    throw UserError(ErrorKind::usage, "--after " + std::to_string(*steps) + ": schedule " +
                                          schedule + " has steps 0 to " + std::to_string(count));
  }
  for (int i = 0; i < steps.value_or(count); ++i) applied = apply(applied, all[i]);
  return applied;
}

}  // namespace coconet::cli
