#include "bench/worker/serve.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <sstream>
#include <stdexcept>

#include "bench/worker/page.h"
#include "bench/worker/protocol.h"

namespace coconet::bench {

std::string Arguments::text(std::string_view name, const std::string& otherwise) const {
  for (const std::string& word : words_) {
    if (word.size() > name.size() && word[name.size()] == '=' && word.starts_with(name)) {
      return word.substr(name.size() + 1);
    }
  }
  return otherwise;
}

int exit_code_of(const char* program, const std::function<void()>& run) {
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

std::int64_t Arguments::number(std::string_view name, std::int64_t otherwise) const {
  const std::string value = text(name);
  return value.empty() ? otherwise : std::stoll(value);
}

int fork_ranks(int ranks) {
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error("cannot start a rank");
    if (process > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return rank;
  }
  return 0;
}

void await_ranks(int rank) {
  while (rank == 0 && wait(nullptr) > 0) {
  }
}

namespace {

std::vector<int> cores_of(const Arguments& arguments) {
  std::vector<int> cores;
  std::istringstream text(arguments.text("cores"));
  for (std::string core; std::getline(text, core, ',');) cores.push_back(std::stoi(core));
  return cores;
}

}  // namespace

void pin(const Arguments& arguments, int rank) {
  const std::vector<int> cores = cores_of(arguments);
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[static_cast<std::size_t>(rank) % cores.size()], &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) throw std::runtime_error("cannot pin a rank");
}

namespace {

void time_batch(const Command& command, bool fresh, Gate& gate, int socket,
                Operations& operations) {
  const std::function<void()> iteration = operations.operation(command.operation);
  std::vector<double> times(static_cast<std::size_t>(command.iterations));
  Reply reply;
  reply.times = command.iterations;
  const std::string name = command.operation;
  const auto iterate = [&] {
    if (fresh) operations.use_buffers(name);
    const std::int64_t start = gate.begin();
    iteration();
    return static_cast<double>(now() - start) * 1e-3;
  };
  reply.round_trip_before = gate.round_trip();
  const std::int64_t begin = now();
  for (std::int64_t i = 0; i < command.warm_up; ++i) iterate();
  for (double& time : times) time = iterate();
  const auto all = static_cast<double>(command.warm_up + command.iterations);
  reply.turnaround = static_cast<double>(now() - begin) * 1e-3 / all;
  reply.round_trip_after = gate.round_trip();
  if (!send_all(socket, &reply, sizeof reply) ||
      !send_all(socket, times.data(), times.size() * sizeof(double))) {
    throw std::runtime_error("the harness is gone");
  }
}

}  // namespace

void serve(const Arguments& arguments, int rank, Operations& operations) {
  const int socket = connect_to(arguments.text("socket"));
  const int ranks = static_cast<int>(arguments.number("ranks", 2));
  const auto cores = std::max<std::size_t>(1, cores_of(arguments).size());
  Gate gate(map_page(arguments.text("page")), rank, ranks, static_cast<std::size_t>(ranks) > cores,
            [socket] { return connected(socket); });
  const bool fresh = arguments.text("fresh") != "no";
  const Hello hello{rank};
  if (!send_all(socket, &hello, sizeof hello)) throw std::runtime_error("the harness is gone");
  // By operation. A check fills the arrays: what is there before may be anything, and numbers that
  // are not normal take ten times as long.
  std::map<std::string, double> differences;
  const auto check = [&](const std::string& operation) {
    gate.meet();
    differences[operation] = operations.check(operation);
    gate.meet();
  };
  Command command;
  while (receive_all(socket, &command, sizeof command) && command.kind != Command::quit) {
    if (command.kind == Command::time) {
      if (!differences.contains(command.operation)) check(command.operation);
      time_batch(command, fresh, gate, socket, operations);
    } else {
      check(command.operation);
      Reply reply;
      reply.difference = differences[command.operation];
      if (!send_all(socket, &reply, sizeof reply)) break;
    }
  }
  close(socket);
}

void serve_ranks(const Arguments& arguments,
                 const std::function<std::unique_ptr<Operations>(int rank)>& make) {
  const int rank = fork_ranks(static_cast<int>(arguments.number("ranks", 2)));
  pin(arguments, rank);
  serve(arguments, rank, *make(rank));
  await_ranks(rank);
}

}  // namespace coconet::bench
