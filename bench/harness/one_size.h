// All workloads at one size: their participants and cells, measured in one round robin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/measure.h"
#include "bench/harness/peers.h"
#include "bench/harness/report.h"

namespace coconet::bench {

struct Setup {
  std::string folder;  // of the participants' programs
  std::vector<int> cores;
  std::vector<Peer> peers;
  std::vector<Other> others = {};
  std::string only = {};  // this workload; "": all
  bool fresh = true;      // buffers are used between iterations (worker/use.h)
  Effort effort;
};

struct SizeResult {
  std::vector<Row> rows;
  int kept = 0, thrown_away = 0;  // batches
  double empty_microseconds = 0;  // what is measured of an iteration that does nothing
};

// Ranks of every participant.
inline constexpr int kRanks = 2;

SizeResult measure_size(const Setup& setup, std::int64_t elements);

// Bytes that all participants together take at this size.
double memory_needed(const Setup& setup, std::int64_t elements);

}  // namespace coconet::bench
