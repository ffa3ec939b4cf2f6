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

// The file, under --dtype if given (then of the program of --program alone). UserError(usage) for
// one of a name that the file has not.
File load(const FileArguments& arguments, Context& context);
const Graph& program_of(const File& file, const FileArguments& arguments);
// That files can be written there; "" is none. UserError(usage) if one of them is `read` too, or
// two are one.
void check_outputs(const std::vector<std::string>& written, const std::vector<std::string>& read);
// The names that --staged means.
std::vector<std::string> staged_of(const std::optional<std::string>& option, const Graph& graph);
using DTypes = std::map<std::string, DTypeKind>;  // of dtype parameters
// The --dtype options. UserError(usage) for a value that is no dtype.
DTypes dtypes_of(const FileArguments& arguments);
// The program under other bindings. Requires: it is one of the file that was loaded.
Graph bound(const Graph& program, const FileArguments& arguments, const Context& context,
            const DTypes& dtypes);
// `--schedule auto`: the user means what tuning finds, and no schedule or choice of the file called
// so.
inline constexpr const char* kAuto = "auto";
bool is_auto(const File& file, const Graph& program, const std::string& schedule);
// The graph after the first `steps` steps of the schedule, or all of them; "" has none.
// UserError(usage) if it has fewer.
Applied scheduled(const Graph& graph, const File& file, const std::string& schedule,
                  std::optional<std::int64_t> steps = std::nullopt);

}  // namespace coconet::cli
