// Reductions inside a tensor, each rank over its own piece.
#include <algorithm>
#include <numeric>
#include <optional>

#include "coconet/base/error.h"
#include "coconet/interp/element.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

std::int64_t elements_of(DTypeKind kind, const Bytes& bytes) {
  return static_cast<std::int64_t>(bytes.size()) / size_of(kind);
}

ScalarValue divide_by_count(const ScalarValue& sum, std::int64_t count) {
  const ScalarValue arguments[] = {sum, cast(scalar(count), sum.kind)};
  return apply(PointwiseFn::div, arguments);
}

// The canonical fold of elements at(0) .. at(count - 1) of `bytes` in 16 lanes.
template <class At>
ScalarValue fold_lanes(DTypeKind kind, const Bytes& bytes, Fold fold, bool of_squares,
                       std::int64_t count, const At& at) {
  return with_number(kind, [&]<class T>(Element<T>) {
    return with_fold(fold, [&]<class F>(F) {
      const auto element = [&](std::int64_t i) {
        const kernel::Compute<T> value = kernel::widen(load_element<T>(bytes.data(), at(i)));
        return of_squares ? kernel::mul(value, value) : value;
      };
      return element_value(accumulator_of(kind), kernel::reduce_row<F>(count, element));
    });
  });
}

// The fold of each block of 1,024 elements, by index in the piece; of a list's, of what its member
// has in it.
std::vector<ScalarValue> block_folds(const Evaluation& e, int rank, Fold fold, bool of_squares) {
  const DTypeKind kind = e.input_kind(0);
  const Bytes& bytes = e.input(0, rank);
  const std::int64_t count = elements_of(kind, bytes);
  std::optional<ListBlocks> list;
  if (e.types[0]->is_list()) list = members_of(*e.types[0], e.setting);
  const std::int64_t first = list && count > 0 ? e.input_piece(0, rank).global(0) / kBlock : 0;
  std::vector<ScalarValue> out;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t valid =
        list ? list->valid(first + begin / kBlock) : std::min(kBlock, count - begin);
    out.push_back(fold_lanes(kind, bytes, fold, of_squares, valid,
                             [&](std::int64_t i) { return begin + i; }));
  }
  return out;
}

// The fold of the blocks' folds, in their order.
ScalarValue fold_blocks(Fold fold, DTypeKind accumulator, const std::vector<ScalarValue>& blocks) {
  if (blocks.empty()) return identity(fold, accumulator);
  ScalarValue total = blocks[0];
  for (std::size_t i = 1; i < blocks.size(); ++i) total = fold_step(fold, total, blocks[i]);
  return total;
}

// The same for the blocks of each member of a list.
std::vector<ScalarValue> fold_members(const ListBlocks& list, Fold fold, DTypeKind accumulator,
                                      const std::vector<ScalarValue>& blocks) {
  std::vector<ScalarValue> out;
  for (std::int64_t member = 0; member < list.members(); ++member) {
    const auto begin = blocks.begin() + list.first_block()[member];
    const auto end = blocks.begin() + list.first_block()[member + 1];
    out.push_back(fold_blocks(fold, accumulator, {begin, end}));
  }
  return out;
}

// The fold of a whole tensor; of a list, of each member.
std::vector<ScalarValue> fold_whole(const Evaluation& e, int rank, Fold fold, bool of_squares) {
  const DTypeKind wide = accumulator_of(e.input_kind(0));
  const std::vector<ScalarValue> blocks = block_folds(e, rank, fold, of_squares);
  if (!e.types[0]->is_list()) return {fold_blocks(fold, wide, blocks)};
  return fold_members(members_of(*e.types[0], e.setting), fold, wide, blocks);
}

// The elements of a piece by the element of the result that they are reduced to.
struct Rows {
  std::vector<std::int64_t> begin;    // of each row in `element`, and the end of the last
  std::vector<std::int64_t> element;  // indices in the piece, ascending in a row
};

Rows rows_of(const Piece& from, const Piece& to, const std::vector<int>& dims) {
  std::vector<std::int64_t> row_of(from.count());
  Rows rows;
  rows.begin.assign(to.count() + 1, 0);
  Coordinates at(from.sizes().size());
  for (std::int64_t i = 0; i < from.count(); ++i) {
    coordinates_of(from, i, &at);
    for (int dim : dims) at[dim] = 0;
    row_of[i] = local_of(to, at);
    check(row_of[i] >= 0, "a rank holds the results of the rows it reduces");
    ++rows.begin[row_of[i] + 1];
  }
  std::partial_sum(rows.begin.begin(), rows.begin.end(), rows.begin.begin());
  rows.element.resize(from.count());
  std::vector<std::int64_t> next(rows.begin.begin(), rows.begin.end() - 1);
  for (std::int64_t i = 0; i < from.count(); ++i) rows.element[next[row_of[i]]++] = i;
  return rows;
}

// Columns are counted in the piece, row-major over the reduced dims.
Bytes reduce_dims(const Evaluation& e, int rank, Fold fold, const Reduce& op) {
  const Piece from = e.input_piece(0, rank), to = e.result_piece(rank);
  Bytes out(to.count() * size_of(e.result_kind()));
  if (to.count() == 0) return out;
  const Rows rows = rows_of(from, to, op.dims);
  std::int64_t row_length = 1;  // of the global tensor
  for (int dim : op.dims) row_length *= from.sizes()[dim];
  for (std::int64_t row = 0; row < to.count(); ++row) {
    const std::int64_t begin = rows.begin[row];
    ScalarValue total =
        fold_lanes(e.input_kind(0), e.input(0, rank), fold, false, rows.begin[row + 1] - begin,
                   [&](std::int64_t i) { return rows.element[begin + i]; });
    if (op.fn == ReduceFn::mean) total = divide_by_count(total, row_length);
    store(cast(total, e.result_kind()), out.data(), row);
  }
  return out;
}

Bytes reduce_all(const Evaluation& e, int rank, Fold fold, const Reduce& op) {
  const Piece to = e.result_piece(rank);
  Bytes out(to.count() * size_of(e.result_kind()));
  if (to.count() == 0) return out;
  std::vector<ScalarValue> totals = fold_whole(e, rank, fold, false);
  std::vector<std::int64_t> counts = {e.input_piece(0, rank).global_count()};
  if (e.types[0]->is_list()) counts = members_of(*e.types[0], e.setting).elements();
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (op.fn == ReduceFn::mean) totals[i] = divide_by_count(totals[i], counts[i]);
    store(cast(totals[i], e.result_kind()), out.data(), static_cast<std::int64_t>(i));
  }
  return out;
}

}  // namespace

Pieces evaluate_reduce(const Evaluation& e, const Reduce& op) {
  const Fold fold = fold_of(op.fn).value_or(Fold::sum);
  Pieces out;
  for (int rank = 0; rank < e.ranks(); ++rank) {
    out.push_back(op.dims.empty() ? reduce_all(e, rank, fold, op) : reduce_dims(e, rank, fold, op));
  }
  return out;
}

Pieces evaluate_norm(const Evaluation& e) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    if (out[rank].empty()) continue;
    std::int64_t at = 0;
    for (const ScalarValue& sum : fold_whole(e, rank, Fold::sum, true)) {
      store(cast(apply(PointwiseFn::sqrt, &sum), e.result_kind()), out[rank].data(), at++);
    }
  }
  return out;
}

Pieces evaluate_block_reduce(const Evaluation& e, const BlockReduce& op) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  const ScalarValue none = identity(op.fold, e.result_kind());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const std::int64_t places = e.result_piece(rank).count();
    const std::vector<ScalarValue> sums = block_folds(e, rank, op.fold, op.of_squares);
    const std::int64_t count = static_cast<std::int64_t>(sums.size());
    check(count <= places, "a rank has a place for the sum of each of its blocks");
    for (std::int64_t i = 0; i < places; ++i) {
      store(i < count ? sums[i] : none, out[rank].data(), i);
    }
  }
  return out;
}

namespace {

// The elements of a rank's vector, as they accumulate.
std::vector<ScalarValue> wide_elements(const Evaluation& e, int rank) {
  const DTypeKind kind = e.input_kind(0);
  std::vector<ScalarValue> out;
  for (std::int64_t i = 0; i < e.input_piece(0, rank).count(); ++i) {
    out.push_back(cast(load(kind, e.input(0, rank).data(), i), accumulator_of(kind)));
  }
  return out;
}

// How many elements the blocks are of; of a list's, by member.
std::vector<std::int64_t> counts_of(const Dim& blocks, const Sizes& sizes) {
  if (!blocks.is_packed()) return {blocks.elements().bind(sizes)};
  return ListBlocks(blocks.elements(), sizes).elements();
}

}  // namespace

Pieces evaluate_fold_blocks(const Evaluation& e, const FoldBlocks& op) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  const DTypeKind wide = accumulator_of(e.input_kind(0));
  const Dim& blocks = e.types[0]->shape[0];
  for (int rank = 0; rank < e.ranks(); ++rank) {
    if (out[rank].empty()) continue;
    std::vector<ScalarValue> totals = wide_elements(e, rank);
    if (blocks.is_packed()) {
      const ListBlocks list(blocks.elements(), e.setting.sizes);
      totals = fold_members(list, op.fold, wide, totals);
    } else {
      totals = {fold_blocks(op.fold, wide, totals)};
    }
    std::vector<std::int64_t> counts;
    if (op.mean) counts = counts_of(blocks, e.setting.sizes);
    for (std::size_t i = 0; i < totals.size(); ++i) {
      if (op.mean) totals[i] = divide_by_count(totals[i], counts[i]);
      store(cast(totals[i], e.result_kind()), out[rank].data(), static_cast<std::int64_t>(i));
    }
  }
  return out;
}

namespace {

// Element `i` of each member of the list, in list order, as they accumulate.
std::vector<ScalarValue> elements_at(const Evaluation& e, int rank, const ListBlocks& list,
                                     std::int64_t i) {
  const DTypeKind kind = e.input_kind(0);
  std::vector<ScalarValue> out;
  for (std::int64_t member = 0; member < list.members(); ++member) {
    const std::int64_t at = list.first_block()[member] * kBlock + i;
    out.push_back(cast(load(kind, e.input(0, rank).data(), at), accumulator_of(kind)));
  }
  return out;
}

}  // namespace

Pieces evaluate_across(const Evaluation& e, const Across& op) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  const DTypeKind wide = accumulator_of(e.input_kind(0));
  std::optional<ListBlocks> tensors;
  if (!e.types[0]->is_scalar_list()) tensors = members_of(*e.types[0], e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const std::int64_t count = e.result_piece(rank).count();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto members = tensors ? elements_at(e, rank, *tensors, i) : wide_elements(e, rank);
      const ScalarValue total = fold_blocks(op.fold, wide, members);
      store(cast(total, e.result_kind()), out[rank].data(), i);
    }
  }
  return out;
}

}  // namespace coconet::interp
