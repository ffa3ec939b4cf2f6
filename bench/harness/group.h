// A group of workloads of one size: their participants and cells, measured in one round robin.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/measure.h"
#include "bench/harness/peers.h"
#include "bench/harness/report.h"
#include "bench/harness/workload.h"

namespace coconet::bench {

struct Setup {
  std::string folder;  // of the participants' programs
  std::vector<int> cores;
  int ranks = 2;  // of every participant
  std::vector<Peer> peers;
  std::vector<Other> others = {};
  bool fresh = true;        // buffers are used between iterations (worker/use.h)
  bool unscheduled = true;  // ours without a schedule too
  Effort effort;
};

struct GroupResult {
  std::vector<Row> rows;
  int kept = 0, thrown_away = 0;  // batches
  double empty_microseconds = 0;  // what is measured of an iteration that does nothing
};

// Without what `only` leaves out; of no workloads if that is all.
Group wanted_of(Group group, const std::vector<std::string>& only);

GroupResult measure_group(const Setup& setup, const Group& group);

// Bytes that all participants together take.
double memory_needed(const Setup& setup, const Group& group);

// UserError(usage) if the ranks of ours alone take more than these bytes, of one of the workloads.
void check_memory(const Group& group, int ranks, std::uint64_t available);

}  // namespace coconet::bench
