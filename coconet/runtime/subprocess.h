// Runs another program to its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace coconet::runtime {

struct StartOptions {
  int input = -1;   // descriptor of its stdin; -1: nothing to read
  int output = -1;  // of its stdout and stderr; -1: nowhere
  // Process group it joins; 0: one of its own, -1: that of this process. Outside of ours it does
  // not see the terminal's Ctrl-C, and SIGTERM is not ignored even where this process ignores it.
  pid_t group = -1;
  std::vector<std::string> variables = {};  // "NAME=value", beside and before our environment's
};

// The program is looked for in PATH. UserError(runtime) if it cannot be started.
pid_t start_process(const std::vector<std::string>& command, const StartOptions& options);

struct ProcessOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  pid_t group = -1;                         // see StartOptions
  std::vector<std::string> variables = {};  // see StartOptions
};

struct ProcessResult {
  int exit_code = 0;   // of a program that ended by itself
  int signal = 0;      // that ended it, or 0
  std::string output;  // stdout and stderr together
  bool succeeded() const { return exit_code == 0 && signal == 0; }
};

// It reads nothing. UserError(runtime) if it cannot be started, or has not ended in time (then it
// is killed).
ProcessResult run_process(const std::vector<std::string>& command,
                          const ProcessOptions& options = {});

}  // namespace coconet::runtime
