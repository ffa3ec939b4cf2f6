#include "tests/support/spawn.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>

#include "coconet/base/error.h"

namespace coconet::tests {

std::vector<runtime::RankKind> rank_kinds() {
#ifdef __SANITIZE_THREAD__
  return {runtime::RankKind::thread};
#else
  return {runtime::RankKind::thread, runtime::RankKind::process};
#endif
}

runtime::LaunchOptions test_launch(int ranks, runtime::RankKind kind) {
  runtime::LaunchOptions out;
  out.ranks = ranks;
  out.kind = kind;
  out.data_bytes = 1 << 16;
  out.pin = false;
  out.join_timeout = std::chrono::seconds(30);
  out.communicator.timeout = std::chrono::seconds(30);
  return out;
}

void spawn(int ranks, runtime::RankKind kind, const runtime::RankFunction& function) {
  runtime::run_ranks(test_launch(ranks, kind), function);
}

void expect(bool holds, const std::string& what) {
  if (!holds) throw UserError(ErrorKind::runtime, "not so: " + what);
}

std::vector<std::string> outcome_texts(const runtime::LaunchOptions& options,
                                       const runtime::RankFunction& function) {
  std::vector<std::string> out;
  for (const runtime::RankOutcome& outcome : runtime::launch_ranks(options, function)) {
    const char* const names[] = {"finished", "failed: ", "killed: ", "stopped: "};
    out.push_back(names[outcome.state] + outcome.error.message);
  }
  return out;
}

bool is_alive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string id, name, state;
  return file >> id >> name >> state && state != "Z" && state != "X";
}

int open_descriptors() {
  // Asked one by one, as /proc is not mounted everywhere. New descriptors take the lowest numbers.
  int open = 0;
  for (int descriptor = 0; descriptor < 4096; ++descriptor) {
    open += fcntl(descriptor, F_GETFD) != -1;
  }
  return open;
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

}  // namespace coconet::tests
