// One rank's work in one turn, performed in steps between which other ranks may act.
#pragma once

#include <memory>

#include "coconet/plan/bind.h"
#include "coconet/simulate/memory.h"

namespace coconet::simulate {

// What all turns of one call see; outlives them.
struct Context {
  const plan::BoundPlan& bound;
  std::uint64_t seed = 0;
  std::uint64_t call_number = 0;
  Memory& memory;
  int call = 0;  // of those in a row

  const Piece& piece(plan::BufferId buffer, int owner) const {
    return memory.piece(call, buffer, owner);
  }
};

class TurnWork {
 public:
  virtual ~TurnWork() = default;
  // Performs a part; true when that was the last.
  virtual bool step() = 0;
};

// Reads nothing before its first step. `turn` outlives the work.
std::unique_ptr<TurnWork> work_of(const Context& context, const plan::Turn& turn, int rank);

}  // namespace coconet::simulate
