// What both ways of launching do with one rank.
#pragma once

#include <atomic>
#include <vector>

#include "coconet/runtime/cores.h"
#include "coconet/runtime/launch.h"
#include "coconet/runtime/place.h"
#include "coconet/runtime/shared_bytes.h"

namespace coconet::runtime {

// How a rank ended, in memory that it shares with the launcher. Zero: has not ended.
struct RankRecord {
  std::atomic<bool> ended;  // published after the rest
  RankOutcome::State state;
  int order;
  StoredError error;
  Place place;
};

// Shared by the launcher and its ranks.
class JobRecord {
 public:
  explicit JobRecord(int ranks)
      : counter_(sizeof(std::atomic<int>)),
        failed_(sizeof(std::atomic<int>)),
        ranks_(static_cast<std::size_t>(ranks) * sizeof(RankRecord)) {}

  RankRecord& rank(int rank) const {
    return ranks_.as<RankRecord>()[static_cast<std::size_t>(rank)];
  }
  // Which rank the launcher knows to have failed by itself; -1: none.
  int failed_rank() const { return failed_.as<std::atomic<int>>()[0].load() - 1; }
  void tell_failed(int rank) const { failed_.as<std::atomic<int>>()[0].store(rank + 1); }
  int next_order() const { return counter_.as<std::atomic<int>>()[0].fetch_add(1); }

 private:
  SharedBytes counter_, failed_;
  SharedBytes ranks_;
};

// Starts the rank's other threads on its cores, runs `function`, publishes how it ended to the
// peers and in the record; throws nothing.
void run_rank(Communicator& communicator, const RankCores& cores, const RankFunction& function,
              const JobRecord& job);
// Once for each rank.
void record_end(const JobRecord& job, int rank, RankOutcome::State state, const RankError& error);
// Whether an end tells the reason of a job's failure rather than another one: those of ranks that
// were killed go first, as others that joined them may have failed by that.
bool comes_before(RankOutcome::State state, int order, RankOutcome::State other, int other_order);
// Requires: the rank has ended.
RankOutcome outcome_of(const RankRecord& record);

// The cores of a rank's threads: none if the options say so or if the threads of all ranks
// outnumber `cores`, as then no thread has one of its own.
RankCores pin_rank(const LaunchOptions& options, const std::vector<int>& cores, int rank);

std::vector<RankOutcome> launch_processes(const LaunchOptions&, const RankFunction&);
std::vector<RankOutcome> launch_threads(const LaunchOptions&, const RankFunction&);

}  // namespace coconet::runtime
