#include "coconet/runtime/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "coconet/base/error.h"
#include "coconet/runtime/backoff.h"
#include "coconet/runtime/file_descriptor.h"

namespace coconet::runtime {

namespace {

std::vector<char*> environment(const std::vector<std::string>& variables) {
  std::vector<char*> out;
  for (const std::string& variable : variables) out.push_back(const_cast<char*>(variable.c_str()));
  const auto is_given = [&](const std::string_view entry) {
    return std::any_of(variables.begin(), variables.end(), [&](const std::string& variable) {
      return entry.starts_with(variable.substr(0, variable.find('=') + 1));
    });
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_given(*entry)) out.push_back(*entry);
  }
  out.push_back(nullptr);
  return out;
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }

  // In the program, `to` is `from`, or /dev/null.
  void connect(int from, int to, int flags) {
    if (from >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, from, to);
    } else {
      posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", flags, 0);
    }
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class SpawnAttributes {
 public:
  explicit SpawnAttributes(pid_t group) {
    posix_spawnattr_init(&attributes_);
    if (group < 0) return;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, group);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

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

pid_t start_process(const std::vector<std::string>& command, const StartOptions& options) {
  check(!command.empty(), "a command has a program");
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::vector<char*> variables = environment(options.variables);
  SpawnActions actions;
  actions.connect(options.input, STDIN_FILENO, O_RDONLY);
  actions.connect(options.output, STDOUT_FILENO, O_WRONLY);
  actions.connect(options.output, STDERR_FILENO, O_WRONLY);
  const SpawnAttributes attributes(options.group);
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments[0], actions.get(), attributes.get(),
                                 arguments.data(), variables.data());
  if (error != 0) throw_system_error("cannot run " + command[0], error);
  return process;
}

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  Pipe pipe = make_pipe();
  const pid_t process = start_process(
      command,
      {.output = pipe.writer.number(), .group = options.group, .variables = options.variables});
  pipe.writer.close();
  ProcessResult out;
  const Clock::time_point deadline = Clock::now() + options.timeout;
  while (read_some(pipe.reader.number(), out.output, deadline)) {
  }
  const bool late = Clock::now() >= deadline;
  if (late) kill(process, SIGKILL);
  int status = 0;
  pid_t ended = -1;
  do {
    ended = waitpid(process, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended < 0) throw_system_error("cannot tell how " + command[0] + " ended");
  if (late) {
    throw UserError(ErrorKind::runtime, command[0] + " was killed as it had not ended after " +
                                            std::to_string(options.timeout.count()) + " ms");
  }
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
  return out;
}

}  // namespace coconet::runtime
