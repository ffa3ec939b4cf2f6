#include "cli/load.h"

#include "coconet/base/error.h"

namespace coconet::cli {

File load(const FileArguments& arguments, Context& context) {
  return read_file(arguments.file, &context.source_text);
}

const Graph& program_of(const File& file, const FileArguments& arguments) {
  return file.program(arguments.program);
}

std::map<std::string, DTypeKind> dtypes_of(const FileArguments& arguments) {
  std::map<std::string, DTypeKind> out;
  for (const auto& [name, value] : pairs_of(arguments.dtypes, "--dtype")) {
    const auto kind = dtype_kind_of(value);
    if (!kind) {
      throw UserError(ErrorKind::usage, "--dtype " + name + ": '" + value +
                                            "' is no dtype; there are f16, bf16, f32, f64, i32, "
                                            "i64 and bool");
    }
    out[name] = *kind;
  }
  return out;
}

Applied scheduled(const Graph& graph, const File& file, const std::string& schedule, int steps) {
  Applied applied = start(graph);
  if (schedule.empty()) return applied;
  if (schedule == "auto") {
    throw UserError(ErrorKind::usage,
                    "--schedule auto needs the tuner, which this version does not have; name a "
                    "schedule of the file");
  }
  int done = 0;
  for (const Step& step : file.schedule(graph.header().program, schedule).steps) {
    if (steps >= 0 && done++ >= steps) break;
    applied = apply(applied, step);
  }
  return applied;
}

}  // namespace coconet::cli
