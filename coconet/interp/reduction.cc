// Reductions inside a tensor, each rank over its own piece.
#include <algorithm>
#include <cmath>

#include "coconet/base/error.h"
#include "coconet/interp/lanes.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

ScalarValue multiply(const ScalarValue& a, const ScalarValue& b) {
  const ScalarValue arguments[] = {a, b};
  return apply(PointwiseFn::mul, arguments);
}

ScalarValue divide_by_count(const ScalarValue& sum, std::int64_t count) {
  const ScalarValue arguments[] = {sum, cast(scalar(count), sum.kind)};
  return apply(PointwiseFn::div, arguments);
}

// The fold of each block of 1,024 elements, by index in the piece.
std::vector<ScalarValue> block_folds(DTypeKind kind, const Bytes& bytes, Fold fold,
                                     bool of_squares) {
  const DTypeKind accumulator = accumulator_of(kind);
  const std::int64_t count = static_cast<std::int64_t>(bytes.size()) / size_of(kind);
  std::vector<ScalarValue> out;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    LaneFold lanes(fold, accumulator);
    for (std::int64_t i = begin; i < std::min(count, begin + kBlock); ++i) {
      const ScalarValue value = cast(load(kind, bytes.data(), i), accumulator);
      lanes.add(of_squares ? multiply(value, value) : value);
    }
    out.push_back(lanes.total());
  }
  return out;
}

ScalarValue fold_whole(DTypeKind kind, const Bytes& bytes, Fold fold, bool of_squares) {
  return fold_in_order(fold, accumulator_of(kind), block_folds(kind, bytes, fold, of_squares));
}

// Folds over some dims: the lanes of every element of the result.
class RowFolds {
 public:
  RowFolds(Fold fold, DTypeKind accumulator, std::int64_t rows, std::int64_t longest)
      : fold_(fold),
        none_(identity(fold, accumulator)),
        width_(std::clamp<std::int64_t>(longest, 1, kLanes)),
        lanes_(rows * width_, none_),
        added_(rows, 0) {}

  void add(std::int64_t row, const ScalarValue& value) {
    ScalarValue& lane = lanes_[row * width_ + added_[row]++ % width_];
    lane = fold_step(fold_, lane, value);
  }

  ScalarValue total(std::int64_t row) const {
    ScalarValue total = lanes_[row * width_];
    for (int lane = 1; lane < kLanes; ++lane) {
      total = fold_step(fold_, total, lane < width_ ? lanes_[row * width_ + lane] : none_);
    }
    return total;
  }

 private:
  Fold fold_;
  ScalarValue none_;
  std::int64_t width_;  // lanes that are ever used: no more than a row is long
  std::vector<ScalarValue> lanes_;
  std::vector<std::int64_t> added_;  // the column that comes next
};

// Columns are counted in the piece, row-major over the reduced dims.
Bytes reduce_dims(const Evaluation& e, int rank, Fold fold, const Reduce& op) {
  const Piece from = e.input_piece(0, rank), to = e.result_piece(rank);
  const DTypeKind kind = e.input_kind(0), accumulator = accumulator_of(kind);
  Bytes out(to.count() * size_of(e.result_kind()));
  if (to.count() == 0) return out;
  std::int64_t row_length = 1;  // of the global tensor
  for (int dim : op.dims) row_length *= from.sizes()[dim];
  RowFolds rows(fold, accumulator, to.count(), row_length);
  Coordinates at(from.sizes().size());
  for (std::int64_t i = 0; i < from.count(); ++i) {
    coordinates_of(from, i, &at);
    for (int dim : op.dims) at[dim] = 0;
    const std::int64_t row = local_of(to, at);
    check(row >= 0, "a rank holds the results of the rows it reduces");
    rows.add(row, cast(load(kind, e.input(0, rank).data(), i), accumulator));
  }
  for (std::int64_t row = 0; row < to.count(); ++row) {
    ScalarValue total = rows.total(row);
    if (op.fn == ReduceFn::mean) total = divide_by_count(total, row_length);
    store(cast(total, e.result_kind()), out.data(), row);
  }
  return out;
}

Bytes reduce_all(const Evaluation& e, int rank, Fold fold, const Reduce& op) {
  const Piece to = e.result_piece(rank);
  Bytes out(to.count() * size_of(e.result_kind()));
  if (to.count() == 0) return out;
  ScalarValue total = fold_whole(e.input_kind(0), e.input(0, rank), fold, false);
  if (op.fn == ReduceFn::mean) {
    total = divide_by_count(total, e.input_piece(0, rank).global_count());
  }
  store(cast(total, e.result_kind()), out.data(), 0);
  return out;
}

}  // namespace

Pieces evaluate_reduce(const Evaluation& e, const Reduce& op) {
  const Fold fold = fold_of(op.fn).value_or(Fold::sum);
  Pieces out;
  for (int rank = 0; rank < e.ranks(); ++rank) {
    out.push_back(op.dims.empty() ? reduce_all(e, rank, fold, op)
                                  : reduce_dims(e, rank, fold, op));
  }
  return out;
}

Pieces evaluate_norm(const Evaluation& e) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    if (out[rank].empty()) continue;
    const ScalarValue sum = fold_whole(e.input_kind(0), e.input(0, rank), Fold::sum, true);
    store(cast(apply(PointwiseFn::sqrt, &sum), e.result_kind()), out[rank].data(), 0);
  }
  return out;
}

Pieces evaluate_block_reduce(const Evaluation& e, const BlockReduce& op) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  const ScalarValue none = identity(op.fold, e.result_kind());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const std::int64_t places = e.result_piece(rank).count();
    const std::vector<ScalarValue> sums =
        block_folds(e.input_kind(0), e.input(0, rank), op.fold, op.of_squares);
    const std::int64_t count = static_cast<std::int64_t>(sums.size());
    check(count <= places, "a rank has a place for the sum of each of its blocks");
    for (std::int64_t i = 0; i < places; ++i) {
      store(i < count ? sums[i] : none, out[rank].data(), i);
    }
  }
  return out;
}

Pieces evaluate_fold_blocks(const Evaluation& e, const FoldBlocks& op) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  const DTypeKind kind = e.input_kind(0);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    if (out[rank].empty()) continue;
    const std::int64_t count = e.input_piece(0, rank).count();
    std::vector<ScalarValue> sums;
    for (std::int64_t i = 0; i < count; ++i) {
      sums.push_back(cast(load(kind, e.input(0, rank).data(), i), accumulator_of(kind)));
    }
    const ScalarValue total = fold_in_order(op.fold, accumulator_of(kind), sums);
    store(cast(total, e.result_kind()), out[rank].data(), 0);
  }
  return out;
}

}  // namespace coconet::interp
