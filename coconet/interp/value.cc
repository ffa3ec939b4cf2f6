#include "coconet/interp/value.h"

#include "coconet/base/error.h"

namespace coconet::interp {

Piece piece_of(const TensorType& type, const Setting& setting, int rank) {
  check(type.layout.axes() == static_cast<int>(setting.mesh.sizes.size()),
        "a layout has one placement per mesh axis");
  return Piece(bind(type.shape, setting.sizes), type.layout, setting.mesh,
               setting.mesh.coordinates(rank));
}

ListBlocks members_of(const TensorType& type, const Setting& setting) {
  check(type.is_list() && !type.is_scalar_list(), "a list has members with elements");
  return ListBlocks(type.shape[0].elements(), setting.sizes);
}

std::int64_t bytes_of(const TensorType& type, const Piece& piece) {
  return checked_product(piece.count(), size_of(type.dtype.kind));
}

Pieces zero_pieces(const TensorType& type, const Setting& setting) {
  Pieces out(setting.mesh.ranks());
  for (int rank = 0; rank < setting.mesh.ranks(); ++rank) {
    out[rank].resize(bytes_of(type, piece_of(type, setting, rank)));
  }
  return out;
}

}  // namespace coconet::interp
