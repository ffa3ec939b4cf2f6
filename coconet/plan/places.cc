#include "coconet/plan/places.h"

namespace coconet::plan {
namespace {

std::vector<std::int64_t> in_ring(const BoundPlan& bound, BufferId id, int rank) {
  const BoundBuffer& buffer = bound.buffers[id.index];
  const int index = bound.plan->launch(bound.plan->buffer(id).first).overlap;
  const Chunking& chunking = bound.overlaps[index];
  const Piece piece = bound.piece(bound.plan->buffer(id).type, rank);
  const std::int64_t in_a_row = row_elements(piece, bound.plan->overlaps[index].slice);
  std::vector<std::int64_t> out;
  out.reserve(piece.count());
  for (std::int64_t i = 0; i < piece.count(); ++i) {
    const std::int64_t row = i / in_a_row;
    const std::int64_t owner = row / chunking.slice_rows, at = row % chunking.slice_rows;
    const std::int64_t place = at / chunking.rows % buffer.ring * buffer.owners + owner;
    out.push_back((place * chunking.rows + at % chunking.rows) * in_a_row + i % in_a_row);
    check(out.back() < buffer.elements, "a ring has memory for all of its places");
  }
  return out;
}

}  // namespace

Places::Places(const BoundPlan& bound, BufferId buffer)
    : memory_(bound.buffers.at(buffer.index).elements) {
  if (bound.buffers[buffer.index].ring == 0) return;
  for (int rank = 0; rank < bound.mesh.ranks(); ++rank) {
    rings_.push_back(in_ring(bound, buffer, rank));
  }
}

std::vector<Places> places_of(const BoundPlan& bound) {
  std::vector<Places> out;
  for (int b = 0; b < static_cast<int>(bound.plan->buffers.size()); ++b) {
    out.emplace_back(bound, BufferId{b});
  }
  return out;
}

}  // namespace coconet::plan
