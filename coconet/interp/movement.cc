// transpose, reshape, narrow, concat: each rank's elements from its own pieces of the operands.
#include <cstring>

#include "coconet/base/error.h"
#include "coconet/interp/operations.h"

namespace coconet::interp {
namespace {

// Each element of the result from where source(rank, &coordinates) says: gives the operand, and
// turns the coordinates in the result into those in the operand.
template <class Source>
Pieces moved(const Evaluation& e, const Source& source) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  const int size = size_of(e.result_kind());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece to = e.result_piece(rank);
    std::vector<Piece> from;
    for (std::size_t i = 0; i < e.types.size(); ++i) {
      from.push_back(e.input_piece(static_cast<int>(i), rank));
    }
    for (std::int64_t i = 0; i < to.count(); ++i) {
      Coordinates at(to.sizes().size());
      coordinates_of(to, i, &at);
      const int operand = source(from, &at);
      const std::int64_t index = local_of(from[operand], at);
      check(index >= 0, "a rank holds what it moves");
      std::memcpy(&out[rank][i * size], &e.input(operand, rank)[index * size], size);
    }
  }
  return out;
}

}  // namespace

Pieces evaluate_transpose(const Evaluation& e, const Transpose& op) {
  return moved(e, [&](const std::vector<Piece>&, Coordinates* at) {
    const Coordinates result = *at;
    for (std::size_t d = 0; d < op.order.size(); ++d) (*at)[op.order[d]] = result[d];
    return 0;
  });
}

Pieces evaluate_reshape(const Evaluation& e) {
  const std::vector<std::int64_t> sizes = coconet::bind(e.node.type.shape, e.setting.sizes);
  return moved(e, [&](const std::vector<Piece>& from, Coordinates* at) {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) flat = flat * sizes[d] + (*at)[d];
    at->assign(from[0].sizes().size(), 0);
    for (std::size_t d = at->size(); d-- > 0;) {
      (*at)[d] = flat % from[0].sizes()[d];
      flat /= from[0].sizes()[d];
    }
    return 0;
  });
}

Pieces evaluate_narrow(const Evaluation& e, const Narrow& op) {
  const std::int64_t start = op.start.bind(e.setting.sizes);
  return moved(e, [&](const std::vector<Piece>&, Coordinates* at) {
    (*at)[op.dim] += start;
    return 0;
  });
}

Pieces evaluate_concat(const Evaluation& e, const Concat& op) {
  return moved(e, [&](const std::vector<Piece>& from, Coordinates* at) {
    int operand = 0;
    while ((*at)[op.dim] >= from[operand].sizes()[op.dim]) {
      (*at)[op.dim] -= from[operand++].sizes()[op.dim];
    }
    return operand;
  });
}

}  // namespace coconet::interp
