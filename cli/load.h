// From the file arguments to graphs.
#pragma once

#include <string>

#include "cli/arguments.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"

namespace coconet::cli {

// The place that errors of the present command refer to: kept for the top level, which renders
// them.
struct Context {
  std::string source_text;
};

File load(const FileArguments& arguments, Context& context);
const Graph& program_of(const File& file, const FileArguments& arguments);
// "T=f32" parts. UserError(usage) for a name that is no dtype.
std::map<std::string, DTypeKind> dtypes_of(const FileArguments& arguments);
// The graph after the first `steps` steps of the schedule (< 0: all).
Applied scheduled(const Graph& graph, const File& file, const std::string& schedule,
                  int steps = -1);

}  // namespace coconet::cli
