// Memory that every rank of this machine has as much of, and that all of them have mapped, apart
// from any program's: what is computed there may be read and written by peers, without a copy.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "coconet/runtime/segment.h"

namespace coconet::runtime {

class SymmetricMemory {
 public:
  // All ranks make one together, each `bytes` of its own, zero; returns when all have come. `name`:
  // as of a job, no other job's or memory's on the machine. UserErrors as of join().
  SymmetricMemory(std::string name, int rank, int ranks, std::size_t bytes,
                  std::chrono::milliseconds timeout);

  const std::string& name() const { return name_; }
  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(segments_.size()); }
  std::size_t bytes() const { return bytes_; }
  // That rank's memory, in this process: at a multiple of 4096 bytes.
  std::span<std::byte> of(int rank) const {
    return {segments_.at(static_cast<std::size_t>(rank)).data(), bytes_};
  }

 private:
  std::string name_;
  int rank_;
  std::size_t bytes_;
  std::vector<Segment> segments_;
};

}  // namespace coconet::runtime
