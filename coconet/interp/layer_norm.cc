// layer_norm(x, gamma, beta, eps) of each row of the last dim, in f32 (f64 for f64), by
// kernel/lanes.h's sums:
//
//   mean = sum(x) / n
//   variance = sum((x - mean) * (x - mean)) / n
//   y = (x - mean) * rsqrt(variance + eps) * gamma + beta, rounded once
#include "coconet/base/error.h"
#include "coconet/interp/element.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

// Turns a row into (x - mean) * rsqrt(variance + eps).
template <class C>
void normalise(std::vector<C>* row, C eps) {
  const auto count = static_cast<std::int64_t>(row->size());
  const C divisor = static_cast<C>(count);
  const C mean =
      kernel::reduce_row<kernel::Sum>(count, [&](std::int64_t i) { return (*row)[i]; }) / divisor;
  for (C& value : *row) value = value - mean;
  const auto square = [&](std::int64_t i) { return (*row)[i] * (*row)[i]; };
  const C variance = kernel::reduce_row<kernel::Sum>(count, square) / divisor;
  const C scale = kernel::rsqrt(variance + eps);
  for (C& value : *row) value = value * scale;
}

template <class C>
void layer_norm_of(const Evaluation& e, int rank, Bytes* out) {
  const Piece result = e.result_piece(rank), x = e.input_piece(0, rank);
  if (result.count() == 0) return;
  check(same_cut(result, x), "layer_norm keeps the placement of its operand");
  const std::int64_t columns = range_of(x, static_cast<int>(x.sizes().size()) - 1).count;
  check(columns == x.sizes().back(), "layer_norm has whole rows");
  const Piece gamma = e.input_piece(1, rank), beta = e.input_piece(2, rank);
  OperandIndex gamma_at(result, *e.types[1], gamma), beta_at(result, *e.types[2], beta);
  const DTypeKind accumulator = accumulator_of(e.input_kind(0));
  const auto wide = [&](int input, std::int64_t index) {
    const ScalarValue value = load(e.input_kind(input), e.input(input, rank).data(), index);
    return element_of<C>(cast(value, accumulator));
  };
  const C eps = wide(3, 0);
  std::vector<C> row(columns);
  for (std::int64_t first = 0; first < result.count(); first += columns) {
    for (std::int64_t j = 0; j < columns; ++j) row[j] = wide(0, first + j);
    normalise(&row, eps);
    for (std::int64_t j = 0; j < columns; ++j) {
      const C scaled = row[j] * wide(1, gamma_at.at(first + j));
      const C value = scaled + wide(2, beta_at.at(first + j));
      const ScalarValue rounded = cast(element_value(accumulator, value), e.result_kind());
      store(rounded, out->data(), first + j);
    }
  }
}

}  // namespace

Pieces evaluate_layer_norm(const Evaluation& e) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    if (accumulator_of(e.input_kind(0)) == DTypeKind::f64) {
      layer_norm_of<double>(e, rank, &out[rank]);
    } else {
      layer_norm_of<float>(e, rank, &out[rank]);
    }
  }
  return out;
}

}  // namespace coconet::interp
