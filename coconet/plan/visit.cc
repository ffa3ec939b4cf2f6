#include "coconet/plan/visit.h"

#include <algorithm>
#include <numeric>

#include "coconet/type/list.h"

namespace coconet::plan {
namespace {

// The chunk of each leading row of a piece.
std::vector<int> chunk_of_rows(const BoundPlan& bound, const Turn& turn, std::int64_t rows) {
  const Plan& plan = *bound.plan;
  const int index = plan.launch(turn.launch).overlap;
  const OverlapGroup& group = plan.overlaps[index];
  const Chunking& chunking = bound.overlaps[index];
  const bool whole = !works_on_slice(plan, turn.launch);
  std::vector<int> out;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t at = row, left = rows;
    for (std::size_t a = 0; whole && a < group.axes.size(); ++a) {
      const std::int64_t each = cut(left, bound.mesh.sizes[group.axes[a]], 0).count;
      const std::int64_t begin = at / each * each;
      at -= begin;
      left = std::min(each, left - begin);
    }
    out.push_back(static_cast<int>(at / chunking.rows));
  }
  return out;
}

std::int64_t held_in(const Piece::Group& group, const std::vector<std::int64_t>& sizes, int shift,
                     const Coordinates& at) {
  std::int64_t index = 0;
  if (group.children.empty()) {
    index = sizes[group.dim] == 1 ? 0 : at[group.dim + shift];
  }
  for (const Piece::Group& child : group.children) {
    const std::int64_t inner = held_in(child, sizes, shift, at);
    if (inner < 0) return -1;
    index = index * child.count + inner;
  }
  index -= group.begin;
  return index >= 0 && index < group.count ? index : -1;
}

bool is_away(const Layout& layout, const std::vector<int>& coordinates) {
  for (int axis : layout.axes_that_are<Rooted>()) {
    if (std::get<Rooted>(layout.at(axis)).root != coordinates[axis]) return true;
  }
  return false;
}

void find_rows(const BoundPlan& bound, const Kernel& kernel, const Turn& turn, int rank,
               const Piece& piece, Visit& out) {
  check(!piece.sizes().empty(), "a scalar has no rows");
  if (piece.sizes().back() == 0) {  // rows of no elements: those of a tensor of one column
    // Chunks that cut rows have none: nothing in them is once a row.
    const int group = bound.plan->launch(turn.launch).overlap;
    const Slice slice = group < 0 ? Slice::dim(0) : bound.plan->overlaps[group].slice;
    if (group >= 0 && (slice.flat || slice.last + 1 >= kernel.space.rank())) return;
    TensorType column = kernel.space;
    column.shape.back() = Dim(1);
    const Piece rows = bound.piece(column, rank);
    for (std::int64_t row : held_in_turn(bound, rows, turn)) {
      out.runs.push_back({0, 0, coordinates_of(rows.sizes(), rows.global(row))});
    }
    return;
  }
  for (std::size_t i = 0; i < out.elements.size(); ++i) {
    Coordinates row = out.elements[i];
    row.back() = 0;
    if (out.runs.empty() || out.runs.back().at != row) out.runs.push_back({i, i, row});
    out.runs.back().end = i + 1;
  }
}

// Blocks are of the tensor's flat index.
void find_blocks(const BoundPlan& bound, const Kernel& kernel, const Piece& piece,
                 const std::vector<std::int64_t>& held, Visit& out) {
  for (const Piece::Group& group : piece.groups()) {
    check(group.whole() || piece.groups().size() == 1,
          "blocks are of whole tensors and flat slices");
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Coordinates block = {piece.global(held[i]) / kBlock};
    if (out.runs.empty() || out.runs.back().at != block) out.runs.push_back({i, i, block});
    out.runs.back().end = i + 1;
  }
  if (!kernel.space.is_list()) return;
  const ListBlocks list(kernel.space.shape[0].elements(), bound.sizes);
  for (Run& run : out.runs) {
    run.member = list.member_of(run.at[0]);
    run.valid = list.valid(run.at[0]);
  }
}

}  // namespace

Coordinates place_of(const Run& run, const TensorType& buffer, const Kernel& kernel) {
  const bool member = buffer.is_scalar_list() && kernel.space.is_list();
  return member ? Coordinates{run.member} : run.at;
}

Coordinates coordinates_of(const std::vector<std::int64_t>& sizes, std::int64_t flat) {
  Coordinates out(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0;) {
    out[d] = flat % sizes[d];
    flat /= sizes[d];
  }
  return out;
}

std::int64_t held_at(const Piece& piece, const Coordinates& at) {
  if (piece.count() == 0) return -1;
  const int shift = static_cast<int>(at.size()) - static_cast<int>(piece.sizes().size());
  check(shift >= 0, "a buffer has no more dims than what visits it");
  std::int64_t index = 0;
  for (const Piece::Group& group : piece.groups()) {
    const std::int64_t inner = held_in(group, piece.sizes(), shift, at);
    if (inner < 0) return -1;
    index = index * group.count + inner;
  }
  return index;
}

std::int64_t flat_at(const std::vector<std::int64_t>& sizes, const Coordinates& at) {
  const std::size_t shift = at.size() - sizes.size();
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    flat = flat * sizes[d] + (sizes[d] == 1 ? 0 : at[d + shift]);
  }
  return flat;
}

std::vector<std::int64_t> held_in_turn(const BoundPlan& bound, const Piece& piece,
                                       const Turn& turn) {
  std::vector<std::int64_t> out(piece.count());
  std::iota(out.begin(), out.end(), 0);
  const int group = bound.plan->launch(turn.launch).overlap;
  if (group < 0 || out.empty()) return out;
  const Slice& slice = bound.plan->overlaps[group].slice;
  const std::int64_t rows = chunk_rows(piece, slice);
  const std::vector<int> chunk = chunk_of_rows(bound, turn, rows);
  const std::int64_t in_a_row = slice.flat ? kBlock : piece.count() / rows;
  std::erase_if(out, [&](std::int64_t held) { return chunk[held / in_a_row] != turn.chunk; });
  return out;
}

Visit visit_of(const BoundPlan& bound, const Kernel& kernel, const Turn& turn, int rank) {
  Visit out;
  out.away = is_away(kernel.space.layout, bound.mesh.coordinates(rank));
  if (out.away) return out;
  const Piece piece = bound.piece(kernel.space, rank);
  const std::vector<std::int64_t> held = held_in_turn(bound, piece, turn);
  out.elements = CoordinatesList(piece.sizes().size());
  out.elements.reserve(held.size());
  for (std::int64_t index : held) {
    out.elements.push_back(coordinates_of(piece.sizes(), piece.global(index)));
  }
  switch (kernel.width) {
    case RunWidth::row: find_rows(bound, kernel, turn, rank, piece, out); break;
    case RunWidth::block: find_blocks(bound, kernel, piece, held, out); break;
    case RunWidth::piece:
      if (!held.empty()) out.runs.push_back({0, out.elements.size(), {}});
      break;
  }
  return out;
}

std::vector<Piece> pieces_of(const BoundPlan& bound, BufferId buffer) {
  std::vector<Piece> out;
  for (int rank = 0; rank < bound.mesh.ranks(); ++rank) {
    out.push_back(bound.piece(bound.plan->buffer(buffer).type, rank));
  }
  return out;
}

namespace {

// Along K a rank multiplies the part that both operands hold.
void add_reads(const BoundPlan& bound, const MatmulLaunch& matmul, const Turn& turn, int rank,
               std::set<std::pair<BufferId, std::int64_t>>& out) {
  const auto piece = [&](BufferId id) { return bound.piece(bound.plan->buffer(id).type, rank); };
  const Piece a = piece(matmul.a), b = piece(matmul.b), result = piece(matmul.out);
  for (std::int64_t i : held_in_turn(bound, result, turn)) {
    const Coordinates at = coordinates_of(result.sizes(), result.global(i));
    Coordinates in_a = at, in_b = at;
    if (matmul.ta) in_a.back() = at[at.size() - 2];
    if (matmul.tb) in_b[in_b.size() - 2] = at.back();
    std::int64_t& k_of_a = matmul.ta ? in_a[in_a.size() - 2] : in_a.back();
    std::int64_t& k_of_b = matmul.tb ? in_b.back() : in_b[in_b.size() - 2];
    const std::int64_t depth = matmul.ta ? a.sizes()[a.sizes().size() - 2] : a.sizes().back();
    for (std::int64_t k = 0; k < depth; ++k) {
      k_of_a = k_of_b = k;
      const std::int64_t at_a = held_at(a, in_a), at_b = held_at(b, in_b);
      if (at_a < 0 || at_b < 0) continue;
      out.insert({matmul.a, at_a});
      out.insert({matmul.b, at_b});
    }
  }
}

void add_reads(const BoundPlan& bound, const Conv2dLaunch& conv, const Turn& turn, int rank,
               std::set<std::pair<BufferId, std::int64_t>>& out) {
  const auto piece = [&](BufferId id) { return bound.piece(bound.plan->buffer(id).type, rank); };
  const Piece x = piece(conv.x), w = piece(conv.w), result = piece(conv.out);
  for (std::int64_t i : held_in_turn(bound, result, turn)) {
    for_each_product(conv.op, x, w, coordinates_of(result.sizes(), result.global(i)),
                     [&](std::int64_t of_x, std::int64_t of_w) {
                       if (of_x >= 0) out.insert({conv.x, of_x});
                       out.insert({conv.w, of_w});
                     });
  }
}

}  // namespace

std::set<std::pair<BufferId, std::int64_t>> tensor_reads(const BoundPlan& bound, const Turn& turn,
                                                         int rank) {
  std::set<std::pair<BufferId, std::int64_t>> out;
  const Launch& launch = bound.plan->launch(turn.launch);
  if (const auto* matmul = std::get_if<MatmulLaunch>(&launch.work)) {
    add_reads(bound, *matmul, turn, rank, out);
  }
  if (const auto* conv = std::get_if<Conv2dLaunch>(&launch.work)) {
    add_reads(bound, *conv, turn, rank, out);
  }
  std::vector<BufferId> whole;
  if (const auto* reduce = std::get_if<ReduceLaunch>(&launch.work)) whole = {reduce->in};
  if (const auto* move = std::get_if<MoveLaunch>(&launch.work)) whole = move->in;
  for (BufferId in : whole) {
    const std::int64_t count = bound.piece(bound.plan->buffer(in).type, rank).count();
    for (std::int64_t i = 0; i < count; ++i) out.insert({in, i});
  }
  return out;
}

std::vector<int> written_by(const BoundPlan& bound, const Store& store, int rank) {
  if (store.to) return receivers(bound, *store.to, rank);
  return store.all ? bound.mesh.group(rank, *store.all) : std::vector<int>{rank};
}

std::string text_of(const Plan& plan, const Turn& turn, int rank) {
  return "rank " + std::to_string(rank) + " in launch " + std::to_string(turn.launch.index) + " (" +
         plan.launch(turn.launch).name + "), chunk " + std::to_string(turn.chunk);
}

}  // namespace coconet::plan
