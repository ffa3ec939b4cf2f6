// The threads of one rank that work with the thread that runs it.
//
// They have no memory of their own in a job and wait for no peer: the rank's thread hands each a
// part of a launch's work and goes on when all have ended, so that a rank is one thread to the
// others. Between parts a worker spins, then yields, then sleeps.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "coconet/kernel/call.h"

namespace coconet::runtime {

// The most threads of a rank.
inline constexpr int kMostThreads = 1024;

class Workers {
 public:
  using Work = kernel::Status (*)(const void* context, int part);

  // Starts threads 1 .. threads - 1, each of which first calls `begin` with its number; thread 0 is
  // the rank's own. `load`: as of Backoff, threads of the job a core.
  // UserError(runtime) if one cannot be started.
  Workers(int threads, int load, const std::function<void(int thread)>& begin);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // See kernel::Call::divide. What a part throws is thrown here when all have ended, the first
  // part's of several. Requires: called by the rank's own thread, and not by a part.
  kernel::Status divide(int parts, Work work, const void* context);

 private:
  class Worker;

  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace coconet::runtime
