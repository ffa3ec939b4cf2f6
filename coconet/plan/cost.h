// What a call is expected to take: bytes over rates, a latency for each wait, products over their
// rate. It orders schedules before they are measured, no more: what is measured decides.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "coconet/plan/bind.h"

namespace coconet::plan {

// Of one rank, while all ranks of the job do the same. Bytes and operations a microsecond.
struct Rates {
  // Index of what follows: of data that stays in a core's own caches, and of more.
  enum Level { cached = 0, memory = 1 };
  std::array<double, 2> own = {40'000, 8'000};       // read or write this rank's memory
  std::array<double, 2> from_peer = {4'000, 4'000};  // read what a peer has just written
  std::array<double, 2> to_peer = {4'000, 4'000};    // write what a peer has just read
  double cache_bytes = 1 << 20;  // of a core: what stays there from one launch to the next
  double wait_us = 0.5;          // until a peer's flag is seen
  double launch_us = 0.15;
  double operation_us = 3e-5;  // one element through an addition, vectorised, its data in cache
  std::map<DTypeKind, double> products = {};  // floating-point operations, by dtype of the operands
};

// As a call is made: one-shot (plan/one_shot.h) or not.
enum class Protocol { direct, one_shot };

struct Cost {
  double microseconds = 0;       // of the slowest rank
  std::vector<double> launches;  // by launch, of that rank: all of its chunks and its waits
};

// Requires: with Protocol::one_shot, allows_one_shot.
Cost cost_of(const BoundPlan& bound, const Rates& rates, Protocol protocol = Protocol::direct);

}  // namespace coconet::plan
