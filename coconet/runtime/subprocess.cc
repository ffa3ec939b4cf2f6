#include "coconet/runtime/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/runtime/backoff.h"
#include "coconet/runtime/file_descriptor.h"

namespace coconet::runtime {

namespace {

// Starts it with both outputs going to `output`.
pid_t start(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw_system_error("cannot run " + command[0], error);
  return process;
}

// Appends what comes; false at the end of the output or when the time is over.
bool read_some(int input, std::string& output, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd item{input, POLLIN, 0};
  const int ready = poll(&item, 1, static_cast<int>(std::max<long long>(left, 0)));
  if (ready < 0) return errno == EINTR;
  if (ready == 0) return false;
  char part[4096];
  const ssize_t count = read(input, part, sizeof part);
  if (count < 0) return errno == EINTR;
  output.append(part, static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command,
                          std::chrono::milliseconds timeout) {
  check(!command.empty(), "a command has a program");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_system_error("cannot make a pipe");
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  const pid_t process = start(command, writer.number());
  writer.close();
  ProcessResult out;
  const Clock::time_point deadline = Clock::now() + timeout;
  while (read_some(reader.number(), out.output, deadline)) {
  }
  const bool late = Clock::now() >= deadline;
  if (late) kill(process, SIGKILL);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) {
    throw UserError(ErrorKind::runtime, command[0] + " was killed as it had not ended after " +
                                            std::to_string(timeout.count()) + " ms");
  }
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
  return out;
}

}  // namespace coconet::runtime
