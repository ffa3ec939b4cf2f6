// Where the elements of a buffer stand in its memory: from type/piece.h alone, as visit.h.
//
// An element of a rank's piece stands at its index in the piece, but in a ring: there row i of the
// chunk c of owner o stands at row (c % ring * owners + o) * Chunking::rows + i.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/plan/bind.h"

namespace coconet::plan {

class Places {
 public:
  Places(const BoundPlan& bound, BufferId buffer);

  // The elements that there is memory for, at every rank that has some of the buffer.
  std::int64_t memory() const { return memory_; }
  std::int64_t at(int rank, std::int64_t held) const {
    return rings_.empty() ? held : rings_[rank].at(held);
  }

 private:
  std::int64_t memory_;
  std::vector<std::vector<std::int64_t>> rings_;  // by rank and held element; none: no ring
};

std::vector<Places> places_of(const BoundPlan& bound);  // by buffer

}  // namespace coconet::plan
