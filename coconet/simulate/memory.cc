#include "coconet/simulate/memory.h"

#include <algorithm>
#include <cstring>

#include "coconet/base/error.h"
#include "coconet/plan/visit.h"

namespace coconet::simulate {
namespace {

// Quiet enough to load, loud enough to see: NaNs whose payload no operation makes.
std::uint64_t poison_of(DTypeKind kind) {
  switch (kind) {
    case DTypeKind::f16: return 0x7d5a;
    case DTypeKind::bf16: return 0x7fa5;
    case DTypeKind::f32: return 0x7fa5a5a5;
    case DTypeKind::f64: return 0x7ff5a5a5a5a5a5a5;
    case DTypeKind::i32: return 0x5a5a5a5a;
    case DTypeKind::i64: return 0x5a5a5a5a5a5a5a5a;
    case DTypeKind::boolean: return 1;
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

}  // namespace

std::string text_of(const plan::Plan& plan, const Actor& actor) {
  if (!actor.turn) return "rank " + std::to_string(actor.rank);
  return plan::text_of(plan, *actor.turn, actor.rank);
}

Memory::Memory(const plan::BoundPlan& bound) : bound_(bound) {
  const plan::Plan& plan = *bound.plan;
  const int ranks = bound.mesh.ranks();
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    check(buffer.slot >= 0, "every buffer has a slot");
    const std::size_t slot = static_cast<std::size_t>(buffer.slot);
    if (slots_.size() <= slot) {
      slots_.resize(slot + 1);
      kinds_.resize(slot + 1, DTypeKind::f32);
    }
    if (slots_[slot].empty()) kinds_[slot] = buffer.type.dtype.kind;
    check(size_of(kinds_[slot]) == size_of(buffer.type.dtype.kind),
          "buffers that share memory have elements of one size");
    slots_[slot].resize(ranks);
    std::vector<Piece> pieces;
    for (int rank = 0; rank < ranks; ++rank) {
      pieces.push_back(bound.piece(buffer.type, rank));
      const std::size_t count = static_cast<std::size_t>(bound.buffers[b].elements);
      Slot& memory = slots_[slot][rank];
      memory.written_as.resize(std::max(memory.written_as.size(), count), kUnwritten);
      memory.bytes.resize(memory.written_as.size() * size_of(kinds_[slot]));
      memory.written_by.resize(memory.written_as.size());
    }
    pieces_.push_back(std::move(pieces));
  }
  for (int s = 0; s < static_cast<int>(slots_.size()); ++s) {
    for (int rank = 0; rank < static_cast<int>(slots_[s].size()); ++rank) {
      poison(s, rank, kUnwritten);
    }
  }
}

const Memory::Slot& Memory::slot(plan::BufferId buffer, int owner) const {
  return slots_[bound_.plan->buffer(buffer).slot][owner];
}

void Memory::poison(int slot, int owner, std::int32_t mark) {
  Slot& memory = slots_[slot][owner];
  const std::uint64_t pattern = poison_of(kinds_[slot]);
  const int size = size_of(kinds_[slot]);
  for (std::size_t i = 0; i < memory.written_as.size(); ++i) {
    std::memcpy(memory.bytes.data() + i * size, &pattern, size);
    memory.written_as[i] = mark;
  }
}

void Memory::refuse(const Actor& actor, const char* verb, plan::BufferId buffer, int owner,
                    std::int64_t index, std::int32_t found) const {
  const plan::Plan& plan = *bound_.plan;
  std::string holds = "holds buffer " + (found < 0 ? "" : plan.buffers[found].name);
  if (found == kUnwritten) holds = "has not been written";
  if (found == kLeft) holds = "belongs to a rank that has returned from the call";
  throw InternalError(text_of(plan, actor) + " " + verb + " element " + std::to_string(index) +
                      " of buffer " + plan.buffer(buffer).name + " of rank " +
                      std::to_string(owner) + ", which " + holds);
}

interp::ScalarValue Memory::read(const Actor& actor, plan::BufferId buffer, int owner,
                                 std::int64_t index) const {
  const Slot& memory = slot(buffer, owner);
  if (index < 0 || index >= piece(buffer, owner).count()) {
    refuse(actor, "reads outside the piece:", buffer, owner, index, buffer.index);
  }
  const std::int32_t found = memory.written_as[index];
  if (found != buffer.index) refuse(actor, "reads", buffer, owner, index, found);
  return interp::load(bound_.plan->buffer(buffer).type.dtype.kind, memory.bytes.data(), index);
}

void Memory::write(const Actor& actor, plan::BufferId buffer, int owner, std::int64_t index,
                   const interp::ScalarValue& value) {
  Slot& memory = slots_[bound_.plan->buffer(buffer).slot][owner];
  check(value.kind == bound_.plan->buffer(buffer).type.dtype.kind,
        "a value is stored in a buffer of its dtype");
  if (index < 0 || index >= piece(buffer, owner).count()) {
    refuse(actor, "writes outside the piece:", buffer, owner, index, buffer.index);
  }
  if (memory.written_as[index] == kLeft) {
    refuse(actor, "writes", buffer, owner, index, kLeft);
  }
  // A rank's next turn of the launch may write over its last: never what another turn has written.
  Writer& writer = memory.written_by[index];
  const Writer now{actor.turn->launch, actor.turn->chunk, actor.rank};
  if (writer.launch == now.launch && !(writer == now)) {
    throw InternalError(text_of(*bound_.plan, actor) + " writes element " + std::to_string(index) +
                        " of buffer " + bound_.plan->buffer(buffer).name + " of rank " +
                        std::to_string(owner) + ", which rank " + std::to_string(writer.rank) +
                        " has written in chunk " + std::to_string(writer.chunk) +
                        " of this launch already");
  }
  writer = now;
  memory.written_as[index] = buffer.index;
  interp::store(value, memory.bytes.data(), index);
}

void Memory::put(plan::BufferId buffer, int owner, const interp::Bytes& bytes) {
  Slot& memory = slots_[bound_.plan->buffer(buffer).slot][owner];
  check(bytes.size() <= memory.bytes.size(), "an input fits its buffer");
  std::copy(bytes.begin(), bytes.end(), memory.bytes.begin());
  std::fill_n(memory.written_as.begin(), piece(buffer, owner).count(), buffer.index);
}

interp::Bytes Memory::take(plan::BufferId buffer, int owner) const {
  const Slot& memory = slot(buffer, owner);
  const std::int64_t count = piece(buffer, owner).count();
  for (std::int64_t i = 0; i < count; ++i) {
    if (memory.written_as[i] == buffer.index) continue;
    refuse({owner, nullptr}, "returns", buffer, owner, i, memory.written_as[i]);
  }
  const int size = size_of(bound_.plan->buffer(buffer).type.dtype.kind);
  return interp::Bytes(memory.bytes.begin(), memory.bytes.begin() + count * size);
}

void Memory::leave(int owner) {
  for (int s = 0; s < static_cast<int>(slots_.size()); ++s) {
    if (!slots_[s].empty()) poison(s, owner, kLeft);
  }
}

}  // namespace coconet::simulate
