// The memory of all ranks: buffers of one slot share it, so that a lifetime that is too short
// shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coconet/interp/scalar.h"
#include "coconet/interp/value.h"
#include "coconet/plan/bind.h"

namespace coconet::simulate {

// Who touches memory, for messages.
struct Actor {
  int rank = 0;
  const plan::Turn* turn = nullptr;
};

// Every element knows which buffer it was last written as. Reading it as another buffer, or before
// it was written, is an InternalError that names the actor, the buffer, the owner and the element.
// So is writing an element that another rank or chunk of the same launch has written.
// Unwritten memory is poisoned: signalling NaNs, for whoever reads past the check.
class Memory {
 public:
  explicit Memory(const plan::BoundPlan& bound);

  interp::ScalarValue read(const Actor& actor, plan::BufferId buffer, int owner,
                           std::int64_t index) const;
  void write(const Actor& actor, plan::BufferId buffer, int owner, std::int64_t index,
             const interp::ScalarValue& value);

  const Piece& piece(plan::BufferId buffer, int owner) const {
    return pieces_[buffer.index][owner];
  }
  void put(plan::BufferId buffer, int owner, const interp::Bytes& bytes);
  // The owner's piece; every element must have been written as this buffer.
  interp::Bytes take(plan::BufferId buffer, int owner) const;
  // The owner has returned from the call: its memory means nothing any more.
  void leave(int owner);

 private:
  struct Writer {
    plan::LaunchId launch;
    int chunk = 0, rank = 0;
    friend bool operator==(const Writer&, const Writer&) = default;
  };
  struct Slot {
    interp::Bytes bytes;
    std::vector<std::int32_t> written_as;  // by element, a buffer's index, or kUnwritten or kLeft
    std::vector<Writer> written_by;        // by element
  };
  static constexpr std::int32_t kUnwritten = -1, kLeft = -2;

  const Slot& slot(plan::BufferId buffer, int owner) const;
  void poison(int slot, int owner, std::int32_t mark);
  [[noreturn]] void refuse(const Actor& actor, const char* verb, plan::BufferId buffer, int owner,
                           std::int64_t index, std::int32_t found) const;

  const plan::BoundPlan& bound_;
  std::vector<std::vector<Piece>> pieces_;  // [buffer][rank]
  std::vector<std::vector<Slot>> slots_;    // [slot][rank]
  std::vector<DTypeKind> kinds_;            // by slot, of its first buffer
};

// "rank 2 in launch 3 (ar), chunk 1".
std::string text_of(const plan::Plan& plan, const Actor& actor);

}  // namespace coconet::simulate
