// Where a rank's piece of a tensor stands, as users see it.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/interp/value.h"

namespace coconet::python {

// A run of dims that is cut as one is one dim.
inline std::vector<std::int64_t> shape_of_piece(const TensorType& type,
                                                const interp::Setting& setting, int rank) {
  const Piece piece = interp::piece_of(type, setting, rank);
  if (piece.count() == 0) return {0};
  std::vector<std::int64_t> out;
  for (const Piece::Group& group : piece.groups()) out.push_back(group.count);
  return out;
}

}  // namespace coconet::python
