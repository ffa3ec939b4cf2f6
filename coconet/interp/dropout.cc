#include <string>

#include "coconet/base/error.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"
#include "coconet/kernel/dropout.h"

namespace coconet::interp {
namespace {

float rate_of(const Evaluation& e, int rank) {
  const ScalarValue rate = load(e.input_kind(1), e.input(1, rank).data(), 0);
  const float p = cast(rate, DTypeKind::f32).f32;
  if (kernel::valid_rate(p)) return p;
  throw UserError(ErrorKind::data,
                  "dropout's probability is " + std::to_string(p) + "; it must be from 0 to 1",
                  e.node.where);
}

kernel::Dropout dropout_of(const Evaluation& e, const Dropout& op, int rank) {
  const std::vector<int> at = e.setting.mesh.coordinates(rank);
  std::vector<std::int64_t> local;
  for (int axis : e.types[0]->layout.axes_that_are<Local>()) local.push_back(at[axis]);
  const std::uint64_t hash = kernel::coordinate_hash(local.data(), static_cast<int>(local.size()));
  return kernel::Dropout(e.setting.seed, e.setting.call_number, static_cast<std::uint64_t>(op.site),
                         hash, rate_of(e, rank));
}

}  // namespace

Pieces evaluate_dropout(const Evaluation& e, const Dropout& op) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece piece = e.result_piece(rank);
    if (piece.count() == 0) continue;
    check(same_cut(piece, e.input_piece(0, rank)), "dropout keeps the placement of its operand");
    const kernel::Dropout dropout = dropout_of(e, op, rank);
    const bool contiguous = piece.contiguous();
    const std::int64_t first = piece.global(0);
    for (std::int64_t i = 0; i < piece.count(); ++i) {
      const auto index = static_cast<std::uint64_t>(contiguous ? first + i : piece.global(i));
      ScalarValue value = load(e.input_kind(0), e.input(0, rank).data(), i);
      if (value.kind == DTypeKind::f64) {
        value.f64 = dropout.apply(value.f64, index);
      } else {
        value.f32 = dropout.apply(value.f32, index);
      }
      store(value, out[rank].data(), i);
    }
  }
  return out;
}

}  // namespace coconet::interp
