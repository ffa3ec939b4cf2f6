// Starts the ranks of a job on this machine, as processes or as threads, runs one function on each,
// and says how each ended. Nothing of the job is left when it returns: no process, no memory.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "coconet/runtime/communicator.h"
#include "coconet/runtime/rank_error.h"

namespace coconet::runtime {

enum class RankKind { process, thread };

struct LaunchOptions {
  int ranks = 1;
  RankKind kind = RankKind::process;
  std::size_t data_bytes = 0;   // of each rank's segment
  std::uint64_t plan_hash = 0;  // compared when processes join
  bool pin = true;              // a core for each thread, if there are as many; see pin_rank
  std::chrono::milliseconds join_timeout = std::chrono::seconds(60);
  CommunicatorOptions communicator = {};
};

struct RankOutcome {
  enum State {
    finished,
    failed,   // by its own error
    killed,   // by a signal, or ended without a word; `error` says by which
    stopped,  // because of another rank
  };
  State state = finished;
  RankError error;  // unless finished
  int order = 0;    // 0: the first rank whose end was noticed
};

using RankFunction = std::function<void(Communicator&)>;

// Processes are forked, so `function` runs in a copy of the caller's memory: results go through
// SharedBytes made before. Requires: the caller has no other thread that may hold a lock (and has
// not used OpenMP), as usual with fork. A child ends with its parent, whatever ends the parent.
// When a rank fails or dies the others are stopped: those that wait by themselves, the rest of the
// processes after 1 s by SIGKILL; a thread that neither waits nor ends is waited for.
// Throws only if the job could not be started.
std::vector<RankOutcome> launch_ranks(const LaunchOptions& options, const RankFunction& function);

// The error of the rank that was killed first, else of the one that failed first, as the parent
// raises it: "rank 2: ..."; then, if it is of the machine, a line on what each other rank waited
// for.
// Returns if all have finished.
void raise_failed_rank(const std::vector<RankOutcome>& outcomes);

// launch_ranks and raise_failed_rank.
void run_ranks(const LaunchOptions& options, const RankFunction& function);

}  // namespace coconet::runtime
