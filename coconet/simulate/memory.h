// The memory of all ranks: buffers of one slot share it, so that a lifetime that is too short
// shows, and so do calls in a row, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coconet/interp/scalar.h"
#include "coconet/interp/value.h"
#include "coconet/plan/calls.h"
#include "coconet/plan/places.h"

namespace coconet::simulate {

// Who touches memory, for messages.
struct Actor {
  int rank = 0;
  const plan::Turn* turn = nullptr;
  int call = 0;  // of those in a row
};

// A rank's memory belongs to the call that the rank has entered, and to none once it has returned:
// whoever touches it in another call is refused as below. Every place knows which buffer it was
// last written as, and, of a ring, which element. Reading it as another, or before it was written
// in the call, is an InternalError that names the actor, the buffer, the owner and the element. So
// is writing an element that another rank or chunk of the same launch has written. Unwritten memory
// is poisoned: signalling NaNs, for whoever reads past the check.
class Memory {
 public:
  explicit Memory(const std::vector<plan::BoundCall>& calls);  // keeps a reference

  interp::ScalarValue read(const Actor& actor, plan::BufferId buffer, int owner,
                           std::int64_t index) const;
  void write(const Actor& actor, plan::BufferId buffer, int owner, std::int64_t index,
             const interp::ScalarValue& value);

  const Piece& piece(int call, plan::BufferId buffer, int owner) const {
    return pieces_[call][buffer.index][owner];
  }
  // The owner has entered the call: its temporaries mean nothing any more.
  void enter(int owner, int call);
  void put(plan::BufferId buffer, int owner, const interp::Bytes& bytes);
  // The owner's piece; every element must have been written as this buffer.
  interp::Bytes take(plan::BufferId buffer, int owner) const;
  // The owner has returned from the call.
  void leave(int owner) { entered_[owner] = kNone; }

 private:
  struct Writer {
    plan::LaunchId launch;
    int chunk = 0, rank = 0, call = 0;
    friend bool operator==(const Writer&, const Writer&) = default;
  };
  struct Slot {
    interp::Bytes bytes;
    // By place: a buffer's index, or kUnwritten; the index in its piece; who wrote it.
    std::vector<std::int32_t> written_as;
    std::vector<std::int64_t> element;
    std::vector<Writer> written_by;
  };
  static constexpr std::int32_t kUnwritten = -1, kAway = -2;
  static constexpr int kNone = -1;

  const plan::Plan& plan() const { return *calls_[0].bound.plan; }
  const Slot& slot(plan::BufferId buffer, int owner) const {
    return slots_[plan().buffer(buffer).slot][owner];
  }
  // Where the element stands in the call that the owner has entered.
  std::int64_t place(plan::BufferId buffer, int owner, std::int64_t index) const {
    return places_[entered_[owner]][buffer.index].at(owner, index);
  }
  void poison(int slot, int owner);
  void make_slots(plan::BufferId buffer);
  // The actor's call is the owner's, and the buffer has the element.
  void expect_there(const Actor& actor, const char* verb, plan::BufferId buffer, int owner,
                    std::int64_t index) const;
  [[noreturn]] void refuse(const Actor& actor, const char* verb, plan::BufferId buffer, int owner,
                           std::int64_t index, std::int32_t found) const;

  const std::vector<plan::BoundCall>& calls_;
  std::vector<std::vector<std::vector<Piece>>> pieces_;  // [call][buffer][rank]
  std::vector<std::vector<plan::Places>> places_;        // [call][buffer]
  std::vector<std::vector<Slot>> slots_;                 // [slot][rank]
  std::vector<DTypeKind> kinds_;                         // by slot, of its first buffer
  std::vector<bool> kept_;                               // by slot: an input's or a state's
  std::vector<int> entered_;                             // by rank: the call, or kNone
};

// "rank 2 in launch 3 (ar), chunk 1".
std::string text_of(const plan::Plan& plan, const Actor& actor);

}  // namespace coconet::simulate
