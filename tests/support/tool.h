// The built coconet tool run as a child: what it printed, how it ended, and what it left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace coconet::tests {

struct ToolResult {
  int exit_code = 0;  // 128 + the signal that ended it
  std::string out, err;
  double seconds = 0;
};

// Runs it to its end; words are parted by spaces. Its cache is the tests' own; ranks are threads
// under the thread sanitizer, which sees one process only.
ToolResult run_tool(std::string_view words);
// With another cache folder.
ToolResult run_tool(std::string_view words, const std::string& cache);

// `run` with these words and `--verify` ends with 0, and every output has the bits of the
// unscheduled program and is within its bound.
void expect_verified(const std::string& words);
// The same of a program's text, with options.
void expect_verified(const std::string& program, const std::string& options);

// The tool at work, in a process group of its own.
class RunningTool {
 public:
  explicit RunningTool(std::string_view words);
  // `before` is done in the child before it becomes the tool, as setting limits.
  RunningTool(std::string_view words, const std::string& cache,
              const std::function<void()>& before = {});
  RunningTool(const RunningTool&) = delete;
  RunningTool& operator=(const RunningTool&) = delete;
  ~RunningTool();  // kills it and its ranks

  pid_t process() const { return process_; }
  // The ranks that there are now, in the order of their numbers.
  std::vector<pid_t> ranks() const;
  // Waits until it has at least `count` children that are ranks at work, and names them.
  std::vector<pid_t> wait_for_ranks(std::size_t count) const;
  ToolResult wait();

 private:
  pid_t process_ = 0;
  int out_ = -1, err_ = -1;  // temporary files without a name
  std::chrono::steady_clock::time_point start_;
};

const std::string& test_cache();

// Names of what stands in a folder; none if there is no such folder.
std::vector<std::string> names_in(const std::string& folder);

// Waits up to a second for all of them to end.
bool all_end(const std::vector<pid_t>& processes);

// The text of a JSON value at a path of keys and indices, as "outputs/0/name"; "" if there is none.
std::string json_at(const std::string& text, const std::string& path);
// The keys of the object at a path, in the order of the text.
std::vector<std::string> json_keys(const std::string& text, const std::string& path = "");

}  // namespace coconet::tests
