#include "coconet/simulate/memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

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
  return plan::text_of(plan, *actor.turn, actor.rank) +
         (actor.call > 0 ? " of call " + std::to_string(actor.call) : "");
}

Memory::Memory(const std::vector<plan::BoundCall>& calls)
    : calls_(calls), pieces_(calls.size()), entered_(calls[0].bound.mesh.ranks(), kNone) {
  for (const plan::BoundCall& call : calls) places_.push_back(plan::places_of(call.bound));
  for (int b = 0; b < static_cast<int>(plan().buffers.size()); ++b) make_slots(plan::BufferId{b});
  for (int s = 0; s < static_cast<int>(slots_.size()); ++s) {
    for (int rank = 0; rank < static_cast<int>(slots_[s].size()); ++rank) poison(s, rank);
  }
}

void Memory::make_slots(plan::BufferId id) {
  const plan::Buffer& buffer = plan().buffer(id);
  check(buffer.slot >= 0, "every buffer has a slot");
  const std::size_t slot = static_cast<std::size_t>(buffer.slot);
  if (slots_.size() <= slot) {
    slots_.resize(slot + 1);
    kinds_.resize(slot + 1, DTypeKind::f32);
    kept_.resize(slot + 1, false);
  }
  if (slots_[slot].empty()) kinds_[slot] = buffer.type.dtype.kind;
  check(size_of(kinds_[slot]) == size_of(buffer.type.dtype.kind),
        "buffers that share memory have elements of one size");
  kept_[slot] = kept_[slot] || buffer.role != plan::BufferRole::temporary;
  slots_[slot].resize(entered_.size());
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    const plan::BoundPlan& bound = calls_[call].bound;
    const std::size_t count = static_cast<std::size_t>(bound.buffers[id.index].elements);
    std::vector<Piece> pieces;
    for (int rank = 0; rank < bound.mesh.ranks(); ++rank) {
      pieces.push_back(bound.piece(buffer.type, rank));
      Slot& memory = slots_[slot][rank];
      memory.written_as.resize(std::max(memory.written_as.size(), count), kUnwritten);
      memory.bytes.resize(memory.written_as.size() * size_of(kinds_[slot]));
      memory.element.resize(memory.written_as.size());
      memory.written_by.resize(memory.written_as.size());
    }
    pieces_[call].push_back(std::move(pieces));
  }
}

void Memory::poison(int slot, int owner) {
  Slot& memory = slots_[slot][owner];
  const std::uint64_t pattern = poison_of(kinds_[slot]);
  const int size = size_of(kinds_[slot]);
  for (std::size_t i = 0; i < memory.written_as.size(); ++i) {
    std::memcpy(memory.bytes.data() + i * size, &pattern, size);
    memory.written_as[i] = kUnwritten;
  }
}

void Memory::enter(int owner, int call) {
  for (int s = 0; call > 0 && s < static_cast<int>(slots_.size()); ++s) {
    if (!slots_[s].empty() && !kept_[s]) poison(s, owner);
  }
  entered_[owner] = call;
}

void Memory::refuse(const Actor& actor, const char* verb, plan::BufferId buffer, int owner,
                    std::int64_t index, std::int32_t found) const {
  std::string holds = "holds buffer " + (found < 0 ? "" : plan().buffers[found].name);
  if (found == kUnwritten) holds = "has not been written";
  if (found == kAway) holds = "belongs to a rank that is not in that call";
  throw InternalError(text_of(plan(), actor) + " " + verb + " element " + std::to_string(index) +
                      " of buffer " + plan().buffer(buffer).name + " of rank " +
                      std::to_string(owner) + ", which " + holds);
}

void Memory::expect_there(const Actor& actor, const char* verb, plan::BufferId buffer, int owner,
                          std::int64_t index) const {
  if (entered_[owner] != actor.call) refuse(actor, verb, buffer, owner, index, kAway);
  if (index >= 0 && index < piece(actor.call, buffer, owner).count()) return;
  const std::string outside = std::string(verb) + " outside the piece:";
  refuse(actor, outside.c_str(), buffer, owner, index, buffer.index);
}

interp::ScalarValue Memory::read(const Actor& actor, plan::BufferId buffer, int owner,
                                 std::int64_t index) const {
  expect_there(actor, "reads", buffer, owner, index);
  const Slot& memory = slot(buffer, owner);
  const std::int64_t at = place(buffer, owner, index);
  const std::int32_t found = memory.written_as[at];
  if (found != buffer.index) refuse(actor, "reads", buffer, owner, index, found);
  if (memory.element[at] != index) {
    throw InternalError(text_of(plan(), actor) + " reads element " + std::to_string(index) +
                        " of buffer " + plan().buffer(buffer).name + " of rank " +
                        std::to_string(owner) + ", where its element " +
                        std::to_string(memory.element[at]) + " is");
  }
  return interp::load(plan().buffer(buffer).type.dtype.kind, memory.bytes.data(), at);
}

void Memory::write(const Actor& actor, plan::BufferId buffer, int owner, std::int64_t index,
                   const interp::ScalarValue& value) {
  check(value.kind == plan().buffer(buffer).type.dtype.kind,
        "a value is stored in a buffer of its dtype");
  expect_there(actor, "writes", buffer, owner, index);
  Slot& memory = slots_[plan().buffer(buffer).slot][owner];
  // A rank's next turn of the launch may write over its last: never what another turn has written.
  const std::int64_t at = place(buffer, owner, index);
  Writer& writer = memory.written_by[at];
  const Writer now{actor.turn->launch, actor.turn->chunk, actor.rank, actor.call};
  const bool again = memory.written_as[at] == buffer.index && memory.element[at] == index;
  if (again && writer.launch == now.launch && writer.call == now.call && !(writer == now)) {
    throw InternalError(text_of(plan(), actor) + " writes element " + std::to_string(index) +
                        " of buffer " + plan().buffer(buffer).name + " of rank " +
                        std::to_string(owner) + ", which rank " + std::to_string(writer.rank) +
                        " has written in chunk " + std::to_string(writer.chunk) +
                        " of this launch already");
  }
  writer = now;
  memory.written_as[at] = buffer.index;
  memory.element[at] = index;
  interp::store(value, memory.bytes.data(), at);
}

void Memory::put(plan::BufferId buffer, int owner, const interp::Bytes& bytes) {
  Slot& memory = slots_[plan().buffer(buffer).slot][owner];
  check(bytes.size() <= memory.bytes.size(), "an input fits its buffer");
  std::copy(bytes.begin(), bytes.end(), memory.bytes.begin());
  const std::int64_t count = piece(entered_[owner], buffer, owner).count();
  std::fill_n(memory.written_as.begin(), count, buffer.index);
  std::iota(memory.element.begin(), memory.element.begin() + count, std::int64_t{0});
}

interp::Bytes Memory::take(plan::BufferId buffer, int owner) const {
  check(calls_[entered_[owner]].bound.buffers[buffer.index].ring == 0, "a result is no ring");
  const Slot& memory = slot(buffer, owner);
  const std::int64_t count = piece(entered_[owner], buffer, owner).count();
  for (std::int64_t i = 0; i < count; ++i) {
    if (memory.written_as[i] == buffer.index) continue;
    refuse({owner, nullptr, entered_[owner]}, "returns", buffer, owner, i, memory.written_as[i]);
  }
  const int size = size_of(plan().buffer(buffer).type.dtype.kind);
  return interp::Bytes(memory.bytes.begin(), memory.bytes.begin() + count * size);
}

}  // namespace coconet::simulate
