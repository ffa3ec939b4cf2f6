// Between a tensor as a file holds it and the pieces that ranks hold.
//
// A file holds the global value once. A `partial` or `local` axis has no one value that a rank
// could take a part of: there the file has one leading dim of the axis's size, the axes in mesh
// order, and each rank has its own entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coconet/io/tensor_data.h"
#include "coconet/type/layout.h"
#include "coconet/type/mesh.h"
#include "coconet/type/piece.h"

namespace coconet {

// The shape in a file of a tensor of bound `sizes`.
std::vector<std::int64_t> file_shape(const std::vector<std::int64_t>& sizes, const Layout& layout,
                                     const MeshSizes& mesh);

// The elements that `piece` holds, dense, in its order. Requires: global.shape == piece.sizes().
std::vector<std::byte> take_piece(const TensorData& global, const Piece& piece);
// The reverse: stores the piece's elements, leaving all others. Requires: as above, and
// local.size() is the piece's count times the dtype's size.
void put_piece(TensorData& global, const Piece& piece, std::span<const std::byte> local);

// The same for one rank of a mesh, with the leading dims: `file` has file_shape(sizes, ...).
std::vector<std::byte> take_piece(const TensorData& file, const std::vector<std::int64_t>& sizes,
                                  const Layout& layout, const MeshSizes& mesh, int rank);
void put_piece(TensorData& file, const std::vector<std::int64_t>& sizes, const Layout& layout,
               const MeshSizes& mesh, int rank, std::span<const std::byte> local);

}  // namespace coconet
