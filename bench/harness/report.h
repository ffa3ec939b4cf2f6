// What a run has found: rows, as a table for people and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/worker/problem.h"

namespace coconet::bench {

struct PeerTime {
  double microseconds = 0;
  bool tuned = false;
  bool out = false;  // it has not come to the finals (measure.h): not among the best
};

// One workload at one size in one placement. Times are microseconds, medians of batches.
struct Row {
  std::string workload;
  int ranks = 2;
  std::string dtype = "f32";
  Problem problem;
  bool registered = true;  // buffers stand in the symmetric heap; else ours stages them
  bool fresh = true;       // Setup::fresh
  std::string placement;
  std::string schedule;   // of ours: the quickest of those measured
  double round_trip = 0;  // of a flag, nanoseconds
  double us = 0;
  double floor_us = 0;
  double through_memory_us = 0;  // of a product: floor_us, and the floor of what follows
  double bound_us = 0;  // the best peer's all_reduce alone, of a workload that holds one; else 0
  std::map<std::string, double> others;   // ours of other builds, unscheduled, contiguous, staged
  std::map<std::string, double> rates;    // GB/s of the floor's operations
  std::map<std::string, PeerTime> peers;  // a peer's better form

  // The name of the fastest, of those with default settings alone or of all; "" if there is none.
  std::string best(bool defaults_alone) const;
  // How many times as long as ours it takes; 0 if there is none.
  double ratio(const std::string& peer) const;
};

// By ranks, workload and dtype; sizes stay in the order in which they were measured.
void sort_rows(std::vector<Row>& rows);
// And below it what its columns mean.
void print_table(const std::vector<Row>& rows);
// UserError if the file cannot be written.
void write_json(const std::string& path, const std::vector<Row>& rows);

}  // namespace coconet::bench
