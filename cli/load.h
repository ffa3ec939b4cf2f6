// From the file arguments to graphs.
#pragma once

#include <map>
#include <optional>
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

// UserError(usage) for a --program or --dtype of a name that the file has not.
File load(const FileArguments& arguments, Context& context);
const Graph& program_of(const File& file, const FileArguments& arguments);
// The --dtype options that are for a parameter of this program. UserError(usage) for a value that
// is no dtype.
std::map<std::string, DTypeKind> dtypes_of(const FileArguments& arguments, const Graph& program);
// The graph after the first `steps` steps of the schedule, or all of them; "" has none.
// UserError(usage) if it has fewer.
Applied scheduled(const Graph& graph, const File& file, const std::string& schedule,
                  std::optional<int> steps = std::nullopt);

}  // namespace coconet::cli
