// From held elements to coordinates in the global tensor and back.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/interp/value.h"

namespace coconet::interp {

// One index per dim of the global tensor.
using Coordinates = std::vector<std::int64_t>;

// The coordinates of held element `local`. Requires: 0 <= local < piece.count(); *out has one place
// per dim.
void coordinates_of(const Piece& piece, std::int64_t local, Coordinates* out);
// The held element at these coordinates, -1 if the piece does not hold it.
std::int64_t local_of(const Piece& piece, const Coordinates& coordinates);
// The two hold the same elements in the same order.
bool same_cut(const Piece& a, const Piece& b);
// The part of dim `dim` that the piece holds; the whole dim where no slice cuts it. Requires: the
// dim is not merged with others in one range.
Cut range_of(const Piece& piece, int dim);

// out's elements, taken from those of `from`. Requires: `from` holds all that `out` holds.
Bytes select(const Piece& from, const Bytes& bytes, const Piece& out, int element_size);
// Writes from's elements to their places in `out`. Requires: `out` holds all that `from` holds.
void place(const Piece& from, const Bytes& bytes, const Piece& out, int element_size,
           Bytes* out_bytes);

// Where a rank's operand has what belongs to an element of the result: the right-aligned broadcast,
// read at the element's global index whatever the two layouts are.
class OperandIndex {
 public:
  // Keeps references to both pieces.
  OperandIndex(const Piece& result, const TensorType& operand, const Piece& held);
  std::int64_t at(std::int64_t local) {
    if (plain_) return local * step_ + offset_;
    return general(local);
  }

 private:
  std::int64_t general(std::int64_t local);

  const Piece& result_;
  const Piece& held_;
  bool plain_ = false;  // operand index = local * step_ + offset_
  std::int64_t step_ = 1, offset_ = 0;
  std::vector<bool> broadcasts_;  // dims of the operand that are a literal 1
  Coordinates at_result_, at_operand_;
};

}  // namespace coconet::interp
