// Runs another program to its end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace coconet::runtime {

struct ProcessResult {
  int exit_code = 0;   // of a program that ended by itself
  int signal = 0;      // that ended it, or 0
  std::string output;  // stdout and stderr together
  bool succeeded() const { return exit_code == 0 && signal == 0; }
};

// The program is looked for in PATH; it reads nothing. UserError(runtime) if it cannot be started
// or has not ended after `timeout` (then it is killed).
ProcessResult run_process(const std::vector<std::string>& command,
                          std::chrono::milliseconds timeout = std::chrono::minutes(5));

}  // namespace coconet::runtime
