// The least time that a workload can take: what it must move, at the rates that the floor
// participant (memory_worker.cc) reached in the same round robin.
#pragma once

#include <cstdint>
#include <string>

namespace coconet::bench {

// What the floor participant does: how many of its arrays one pass moves, and whether those are the
// ones exchanged between ranks. Pushes set no floor; they show what another way would cost.
struct FloorOperation {
  const char* name;
  double arrays;
  bool exchanged;
};
inline constexpr FloorOperation kFloorOperations[] = {
    {"read", 1, false},    {"write", 1, false},   {"write_nt", 1, false}, {"copy", 2, false},
    {"copy_nt", 2, false}, {"exchange", 1, true}, {"push", 1, true},      {"push_nt", 1, true}};

// Of all ranks together, in one iteration.
struct Traffic {
  double reads = 0, writes = 0;  // bytes
  double exchanged = 0;          // of the reads: of what another rank has just written
};
struct Rates {
  double read = 0, write = 0, copy = 0, exchange = 0;  // GB/s, all cores together
};

// Registered buffers; gradients of `size` bytes an element, all else of 4. Each gradient is read
// once, and each result written once, whichever rank does it; of every slice's gradients all but
// its owner's are another rank's.
inline Traffic all_reduce_traffic(std::int64_t elements, int ranks) {
  const double bytes = 4.0 * static_cast<double>(elements);
  return {bytes * ranks, bytes * ranks, bytes * (ranks - 1)};
}
// Gradients of all ranks, and one each of p, m, v are read; p of all ranks and m, v are written.
inline Traffic adam_traffic(std::int64_t elements, int ranks, int size) {
  const double bytes = 4.0 * static_cast<double>(elements);
  const double gradients = size * static_cast<double>(elements);
  return {gradients * ranks + 3 * bytes, bytes * (ranks + 2), gradients * (ranks - 1)};
}

// Bytes of each of the two arrays of a rank of the floor participant, so that it works on as much
// memory as the workload does (Adam's with gradients of 4 bytes).
inline std::int64_t all_reduce_footprint(std::int64_t elements) { return 4 * elements; }
inline std::int64_t adam_footprint(std::int64_t elements, int ranks) {
  return (2 * 4 * elements + 2 * 4 * elements / ranks) / 2;
}

// Of each rank of it in `exchange`.
inline std::int64_t exchange_footprint(std::int64_t elements, int ranks) {
  return 4 * elements / ranks;
}

// Microseconds: the longest of the reads alone, the writes alone, both at the rate of a copy, what
// is exchanged, and one way of a flag between the cores. 0 if a rate is not known.
double floor_of(const Traffic& traffic, const Rates& rates, double round_trip_nanoseconds);

}  // namespace coconet::bench
