// What a run is to measure, as the command line says: checked before anything is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/measure.h"
#include "bench/harness/workload.h"

namespace coconet::bench {

// No tensor has more elements.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 30;
inline constexpr std::int64_t kColumns = 4096;  // of rms_norm

struct Request {
  bool full = false, smoke = false;
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> powers, lists, rows;
  std::vector<std::string> products;
  std::optional<std::int64_t> rounds;
  std::vector<std::string> also, only, peers;
  bool no_peers = false, stale = false;
  std::vector<std::string> open_mpi_options;
  std::string json = "build/bench.json";
};

// UserError(usage) for what cannot be measured, or cannot give a figure: what was found, what would
// do. Words that are no option, or no number, end the program with 2, --help with 0.
Request read_request(int argc, const char* const* argv);

std::vector<int> ranks_of(const Request& request);
Effort effort_of(const Request& request);
// Of the sizes that are given or, without any, those that `full` and `smoke` stand for.
std::vector<Group> groups_of(Request request, int ranks);

}  // namespace coconet::bench
