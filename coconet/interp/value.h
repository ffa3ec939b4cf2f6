// What a graph runs on and what its values are: shared by the interpreter and all that compare with
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coconet/type/list.h"
#include "coconet/type/piece.h"
#include "coconet/type/tensor_type.h"

namespace coconet::interp {

// Rank r's coordinates follow from `mesh`. `sizes` are those of the dims and, where values are
// stacked, of the mesh's axes (with_axes).
struct Setting {
  Sizes sizes;
  MeshSizes mesh;
  std::uint64_t seed = 0;
  std::uint64_t call_number = 0;
};

// One rank's piece of a tensor: dense, in its dtype's storage (a bool is one byte, 0 or 1).
using Bytes = std::vector<std::byte>;
// pieces[rank] of one tensor.
using Pieces = std::vector<Bytes>;

// The elements that `rank` holds of a tensor of this type.
Piece piece_of(const TensorType& type, const Setting& setting, int rank);
// The members of a list. Requires: type.is_list(), no list of scalars.
ListBlocks members_of(const TensorType& type, const Setting& setting);
std::int64_t bytes_of(const TensorType& type, const Piece& piece);
// Every rank's piece, all bytes zero.
Pieces zero_pieces(const TensorType& type, const Setting& setting);

}  // namespace coconet::interp
