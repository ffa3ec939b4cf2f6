// The least time that a workload can take: what it must move, at the rates that the floor
// participant (memory_worker.cc) reached in the same round robin.
#pragma once

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

// Microseconds: the longest of the reads alone, the writes alone, both at the rate of a copy, what
// is exchanged, and one way of a flag between the cores. 0 if a rate is not known.
double floor_of(const Traffic& traffic, const Rates& rates, double round_trip_nanoseconds);

}  // namespace coconet::bench
