// Collectives, and the free changes of placement.
#include <cstring>
#include <map>

#include "coconet/base/error.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

// Folds the ranks' pieces, which hold the same elements, in the order given, starting at the first
// one's value: accumulated in f32 where they are 16-bit, rounded once.
Bytes fold_ranks(const Evaluation& e, Fold fold, const std::vector<int>& ranks) {
  const DTypeKind kind = e.input_kind(0);
  const DTypeKind accumulator = accumulator_of(kind);
  const Bytes& first = e.input(0, ranks[0]);
  Bytes out(first.size());
  const std::int64_t count = static_cast<std::int64_t>(first.size()) / size_of(kind);
  for (std::int64_t i = 0; i < count; ++i) {
    ScalarValue sum = cast(load(kind, first.data(), i), accumulator);
    for (std::size_t j = 1; j < ranks.size(); ++j) {
      const ScalarValue value = cast(load(kind, e.input(0, ranks[j]).data(), i), accumulator);
      sum = fold_step(fold, sum, value);
    }
    store(cast(sum, kind), out.data(), i);
  }
  return out;
}

}  // namespace

Pieces evaluate_group_fold(const Evaluation& e, Fold fold, const AxisList& axes) {
  Pieces out(e.ranks());
  std::map<int, Bytes> folded;  // by the group's first rank
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece result = e.result_piece(rank);
    if (result.count() == 0) continue;
    const std::vector<int> group = e.setting.mesh.group(rank, axes);
    const auto [found, added] = folded.try_emplace(group.front());
    if (added) found->second = fold_ranks(e, fold, group);
    out[rank] = select(e.input_piece(0, rank), found->second, result, size_of(e.result_kind()));
  }
  return out;
}

Pieces evaluate_all_gather(const Evaluation& e, const AllGather& op) {
  Pieces out(e.ranks());
  const int size = size_of(e.result_kind());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece result = e.result_piece(rank);
    if (result.count() == 0) continue;
    const std::vector<int> group = e.setting.mesh.group(rank, op.axes);
    if (group.front() != rank) {
      out[rank] = out[group.front()];
      continue;
    }
    out[rank].resize(result.count() * size);
    std::int64_t placed = 0;
    for (int owner : group) {
      const Piece piece = e.input_piece(0, owner);
      place(piece, e.input(0, owner), result, size, &out[rank]);
      placed += piece.count();
    }
    check(placed == result.count(), "the gathered pieces make up the whole");
  }
  return out;
}

Pieces evaluate_broadcast(const Evaluation& e, const Broadcast& op) {
  Pieces out(e.ranks());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece result = e.result_piece(rank);
    if (result.count() == 0) continue;
    std::vector<int> source = e.setting.mesh.coordinates(rank);
    for (int axis : op.axes) {
      const Rooted* rooted = std::get_if<Rooted>(&e.types[0]->layout.at(axis));
      check(rooted || op.root, "a broadcast of a local operand names its root");
      source[axis] = rooted ? rooted->root : *op.root;
      check(source[axis] < e.setting.mesh.sizes[axis], "a root is a rank of its axis");
    }
    const int owner = e.setting.mesh.rank(source);
    out[rank] =
        select(e.input_piece(0, owner), e.input(0, owner), result, size_of(e.result_kind()));
  }
  return out;
}

Pieces evaluate_keep(const Evaluation& e) {
  Pieces out(e.ranks());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    out[rank] = select(e.input_piece(0, rank), e.input(0, rank), e.result_piece(rank),
                       size_of(e.result_kind()));
  }
  return out;
}

Pieces evaluate_as_partial(const Evaluation& e, const AsPartial& op) {
  Pieces out(e.ranks());
  const ScalarValue none = identity(op.fold, e.result_kind());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const std::vector<int> at = e.setting.mesh.coordinates(rank);
    bool holds = true;
    for (int axis : op.axes) holds = holds && at[axis] == 0;
    out[rank] = e.input(0, rank);
    if (holds) continue;
    const std::int64_t count = e.result_piece(rank).count();
    for (std::int64_t i = 0; i < count; ++i) store(none, out[rank].data(), i);
  }
  return out;
}

// A source and its receiver have the same coordinates on all other axes, so the same piece.
Pieces evaluate_shift(const Evaluation& e, const Shift& op) {
  Pieces out(e.ranks());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const auto source = e.setting.mesh.shifted(rank, op.axes[0], -std::int64_t{op.by}, op.wrap);
    out[rank] = source ? e.input(0, *source) : Bytes(e.input(0, rank).size());
  }
  return out;
}

Pieces evaluate_all_to_all(const Evaluation& e, const AllToAll& op) {
  Pieces out(e.ranks());
  const int size = size_of(e.result_kind());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece result = e.result_piece(rank);
    out[rank].resize(result.count() * size);
    Coordinates at(result.sizes().size());
    for (int owner : e.setting.mesh.group(rank, op.axes)) {
      const Piece piece = e.input_piece(0, owner);
      for (std::int64_t i = 0; i < result.count(); ++i) {
        coordinates_of(result, i, &at);
        const std::int64_t source = local_of(piece, at);
        if (source < 0) continue;
        std::memcpy(&out[rank][i * size], &e.input(0, owner)[source * size], size);
      }
    }
  }
  return out;
}

}  // namespace coconet::interp
