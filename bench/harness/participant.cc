#include "bench/harness/participant.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "bench/worker/page.h"
#include "bench/worker/protocol.h"

namespace coconet::bench {

namespace {

constexpr int kStartMilliseconds = 60'000, kBatchMilliseconds = 120'000;

int listen_at(const std::string& name, int ranks) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(socket, ranks) != 0) {
    throw ParticipantFailed("cannot listen for ranks: " + std::string(std::strerror(errno)));
  }
  return socket;
}

std::string joined(const std::vector<int>& numbers) {
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

// In the child, after fork: never returns.
[[noreturn]] void become(const Program& program, const std::vector<std::string>& words, int log) {
  setpgid(0, 0);  // so that all that it starts can be ended
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  for (const std::string& variable : program.variables) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const std::string error = "cannot start " + words[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, error.data(), error.size());
  _exit(127);
}

}  // namespace

double Batch::median() const {
  std::vector<double> sorted = microseconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Participant::Participant(Program program) : program_(std::move(program)) {}

Participant::Participant(Participant&& other) noexcept
    : program_(std::move(other.program_)),
      page_(std::exchange(other.page_, -1)),
      log_(std::exchange(other.log_, -1)),
      process_(std::exchange(other.process_, -1)),
      starts_(other.starts_),
      sockets_(std::exchange(other.sockets_, {})) {}

Participant::~Participant() { stop(); }

void Participant::make_page() {
  page_ = memfd_create("coconet-bench-page", MFD_CLOEXEC);
  log_ = memfd_create("coconet-bench-log", MFD_CLOEXEC);
  if (page_ < 0 || log_ < 0 || ftruncate(page_, sizeof(Page)) != 0) fail("has no page");
}

void Participant::start() {
  if (process_ > 0) return;
  ++starts_;
  make_page();
  static int started = 0;
  const std::string pid = std::to_string(getpid());
  const std::string name = "coconet-bench-" + pid + "-" + std::to_string(started++);
  const int listener = listen_at(name, program_.ranks);
  std::vector<std::string> words = program_.command;
  words.push_back("socket=" + name);
  words.push_back("page=/proc/" + pid + "/fd/" + std::to_string(page_));
  words.push_back("ranks=" + std::to_string(program_.ranks));
  words.push_back("cores=" + joined(program_.cores));
  for (const auto& [word, value] : program_.words) words.push_back(word + "=" + value);
  process_ = fork();
  if (process_ == 0) become(program_, words, log_);
  if (process_ < 0) {
    close(listener);
    fail("cannot be started");
  }
  setpgid(process_, process_);
  try {
    accept_ranks(listener);
  } catch (...) {
    close(listener);
    throw;
  }
  close(listener);
}

void Participant::accept_ranks(int listener) {
  sockets_.assign(static_cast<std::size_t>(program_.ranks), -1);
  for (int i = 0; i < program_.ranks; ++i) {
    wait_readable(listener, kStartMilliseconds, "start");
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello;
    if (socket < 0 || !receive_all(socket, &hello, sizeof hello)) fail("died as it started");
    if (hello.rank < 0 || hello.rank >= program_.ranks || sockets_[hello.rank] >= 0) {
      fail("says twice that it is rank " + std::to_string(hello.rank));
    }
    sockets_[hello.rank] = socket;
  }
}

void Participant::wait_readable(int socket, int milliseconds, const std::string& what) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (Clock::now() < until) {
    pollfd poll{socket, POLLIN, 0};
    if (::poll(&poll, 1, 200) > 0) return;
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) {
      kill(-process_, SIGKILL);  // a launcher may have left ranks
      process_ = -1;
      fail("ended before it had to " + what);
    }
  }
  fail("took more than " + std::to_string(milliseconds / 1000) + " s to " + what);
}

void Participant::send(const Command& command) {
  start();
  for (const int socket : sockets_) {
    if (!send_all(socket, &command, sizeof command)) fail("died");
  }
}

Reply Participant::receive(int rank) {
  Reply reply;
  wait_readable(sockets_[rank], kBatchMilliseconds, "answer");
  if (!receive_all(sockets_[rank], &reply, sizeof reply)) fail("died in a batch");
  return reply;
}

Batch Participant::time(const std::string& operation, std::int64_t warm_up,
                        std::int64_t iterations) {
  Command command{.kind = Command::time, .warm_up = warm_up, .iterations = iterations};
  operation.copy(command.operation, sizeof command.operation - 1);
  send(command);
  Batch out;
  out.microseconds.assign(static_cast<std::size_t>(iterations), 0);
  std::vector<double> times(static_cast<std::size_t>(iterations));
  for (int rank = 0; rank < program_.ranks; ++rank) {
    const Reply reply = receive(rank);
    if (reply.times != iterations ||
        !receive_all(sockets_[rank], times.data(), times.size() * sizeof(double))) {
      fail("died in a batch");
    }
    if (rank == 0) {
      out.round_trip_before = reply.round_trip_before;
      out.round_trip_after = reply.round_trip_after;
    }
    out.turnaround = std::max(out.turnaround, reply.turnaround);
    for (std::size_t i = 0; i < times.size(); ++i) {
      out.microseconds[i] = std::max(out.microseconds[i], times[i]);
    }
  }
  return out;
}

double Participant::check(const std::string& operation) {
  Command command{.kind = Command::check};
  operation.copy(command.operation, sizeof command.operation - 1);
  send(command);
  double out = 0;
  for (int rank = 0; rank < program_.ranks; ++rank) {
    out = std::max(out, receive(rank).difference);
  }
  return out;
}

void Participant::stop() {
  const Command quit;
  for (const int socket : sockets_) {
    if (socket < 0) continue;
    send_all(socket, &quit, sizeof quit);
    close(socket);
  }
  sockets_.clear();
  if (process_ > 0) {
    bool ended = false;
    for (int tries = 0; tries < 500 && !ended; ++tries) {
      ended = waitpid(process_, nullptr, WNOHANG) != 0;
      if (!ended) usleep(10'000);
    }
    // What is left of it, launchers and ranks: all in its own group.
    kill(-process_, SIGKILL);
    if (!ended) waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  if (page_ >= 0) close(std::exchange(page_, -1));
  if (log_ >= 0) close(std::exchange(log_, -1));
}

std::string Participant::printed() const {
  char text[2000];
  const off_t size = lseek(log_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(sizeof text));
  const ssize_t got = log_ < 0 ? 0 : pread(log_, text, sizeof text, from);
  return got > 0 ? ":\n" + std::string(text, static_cast<std::size_t>(got)) : "";
}

void Participant::fail(const std::string& what) {
  const std::string message = program_.name + " " + what + printed();
  if (process_ > 0) kill(-process_, SIGKILL);
  stop();
  throw ParticipantFailed(message);
}

}  // namespace coconet::bench
