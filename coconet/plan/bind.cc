#include "coconet/plan/bind.h"

#include <algorithm>

#include "coconet/base/nearest.h"
#include "coconet/graph/check_sizes.h"
#include "coconet/graph/literal.h"

namespace coconet::plan {
namespace {

constexpr std::int64_t kChunkRows = 64;
constexpr std::int64_t kMaxDefaultChunks = 8;
// Of a rank's copies in a chunk of a staging group: with what the chunk reads and writes it stays
// in the second-level cache.
constexpr std::int64_t kStagedChunkBytes = 256 << 10;
constexpr std::int64_t kMaxChunks = 1 << 16;  // each is a turn of every launch

void check_ranks(const MeshSizes& mesh) {
  if (mesh.ranks() <= kMaxRanks) return;
  throw UserError(ErrorKind::usage, "the mesh has " + std::to_string(mesh.ranks()) +
                                        " ranks; at most " + std::to_string(kMaxRanks) +
                                        " can run on one node");
}

void check_dims(const Plan& plan, const Sizes& sizes) {
  for (const Node& node : plan.graph.nodes()) {
    bind(node.type.shape, sizes);
    if (const DimSize* size = std::get_if<DimSize>(&node.op)) coconet::bind(*size, sizes);
  }
}

// The rows of the largest slice that an owner has.
std::int64_t slice_rows(const BoundPlan& bound, const OverlapGroup& group) {
  const Plan& plan = *bound.plan;
  LaunchId of = group.first;
  for (int l = group.first.index; l <= group.last.index; ++l) {
    if (!works_on_slice(plan, LaunchId{l})) continue;
    of = LaunchId{l};
    break;
  }
  const TensorType& type = chunked_type(plan, of);
  std::int64_t rows = chunk_rows(bound.piece(type, 0), group.slice);
  if (works_on_slice(plan, of)) return rows;
  for (int axis : group.axes) rows = cut(rows, bound.mesh.sizes[axis], 0).count;
  return rows;
}

// What a rank copies of the largest buffer in the group between its caller's memory and the heap.
std::int64_t staged_bytes(const BoundPlan& bound, const OverlapGroup& group) {
  std::int64_t out = 0;
  for (int l = group.first.index; l <= group.last.index; ++l) {
    const Launch& launch = bound.plan->launches[l];
    if (!launch.staging) continue;
    const BufferId to = std::get<Kernel>(launch.work).stores[0].buffer;
    out = std::max(out, bound.buffers[to.index].bytes);
  }
  return out;
}

std::int64_t default_chunks(const BoundPlan& bound, const OverlapGroup& group, std::int64_t rows) {
  if (group.staging) {
    return std::max<std::int64_t>(1, (staged_bytes(bound, group) - 1) / kStagedChunkBytes + 1);
  }
  return std::clamp<std::int64_t>((rows + kChunkRows - 1) / kChunkRows, 1, kMaxDefaultChunks);
}

Chunking chunking_of(const BoundPlan& bound, const OverlapGroup& group, std::int64_t wanted) {
  if (wanted < 0) {
    throw UserError(ErrorKind::usage, "found " + std::to_string(wanted) + " chunks for " +
                                          group.name + "; needed 1 or more, or 0 for the default");
  }
  Chunking out;
  const std::int64_t rows = slice_rows(bound, group);
  std::int64_t chunks = wanted == 0 ? default_chunks(bound, group, rows) : wanted;
  chunks = std::min({chunks, std::max<std::int64_t>(rows, 1), kMaxChunks});
  out.chunks = static_cast<int>(chunks);
  out.rows = (rows + chunks - 1) / chunks;
  out.slice_rows = rows;
  out.launches = group.last.index - group.first.index + 1;
  for (int l = group.first.index; l <= group.last.index; ++l) {
    out.greatest_lag = std::max(out.greatest_lag, bound.plan->launches[l].lag);
  }
  return out;
}

// Of the first rank, whose pieces are the largest.
void make_ring(const BoundPlan& bound, const Buffer& buffer, BoundBuffer& out) {
  const int index = bound.plan->launch(buffer.first).overlap;
  const OverlapGroup& group = bound.plan->overlaps[index];
  const Chunking& chunking = bound.overlaps[index];
  if (chunking.rows >= (chunking.slice_rows + buffer.ring - 1) / buffer.ring) return;
  out.ring = buffer.ring;
  if (!cut_as(buffer.type, group)) {
    for (int axis : group.axes) out.owners *= bound.mesh.sizes[axis];
  }
  out.elements = out.ring * out.owners * chunking.rows *
                 row_elements(bound.piece(buffer.type, 0), group.slice);
}

void number_ticks(BoundPlan& bound) {
  const Plan& plan = *bound.plan;
  for (int l = 0; l < static_cast<int>(plan.launches.size());) {
    const int group = plan.launches[l].overlap;
    if (group < 0) {
      bound.first.push_back(++bound.ticks);
      bound.turns.push_back({LaunchId{l++}, 0, bound.ticks});
      continue;
    }
    const Chunking& chunking = bound.overlaps[group];
    for (int m = 0; m < chunking.launches; ++m) {
      const int lag = plan.launches[l + m].lag;
      bound.first.push_back(bound.ticks + static_cast<std::int64_t>(lag) * chunking.launches + m +
                            1);
      for (int c = 0; c < chunking.chunks; ++c) {
        bound.turns.push_back({LaunchId{l + m}, c, bound.tick(LaunchId{l + m}, c)});
      }
    }
    bound.ticks +=
        static_cast<std::int64_t>(chunking.launches) * (chunking.chunks + chunking.greatest_lag);
    l += chunking.launches;
  }
  std::sort(bound.turns.begin(), bound.turns.end(),
            [](const Turn& a, const Turn& b) { return a.tick < b.tick; });
}

}  // namespace

Piece BoundPlan::piece(const TensorType& type, int rank) const {
  return Piece(coconet::bind(type.shape, sizes), type.layout, mesh, mesh.coordinates(rank));
}

int BoundPlan::chunks_of(LaunchId launch) const {
  const int group = plan->launch(launch).overlap;
  return group < 0 ? 1 : overlaps[group].chunks;
}

std::int64_t BoundPlan::tick(LaunchId launch, int chunk) const {
  const int group = plan->launch(launch).overlap;
  const std::int64_t a_beat = group < 0 ? 0 : overlaps[group].launches;
  return first.at(launch.index) + chunk * a_beat;
}

std::vector<int> receivers(const BoundPlan& bound, const Shift& shift, int rank) {
  const std::int64_t by = shift.by;
  const auto to = bound.mesh.shifted(rank, shift.axes[0], by, shift.wrap);
  const auto from = bound.mesh.shifted(rank, shift.axes[0], -by, shift.wrap);
  std::vector<int> out;
  if (to) out.push_back(*to);
  if (!from) out.push_back(rank);
  return out;
}

bool cut_as(const TensorType& type, const OverlapGroup& group) {
  return std::all_of(group.axes.begin(), group.axes.end(), [&](int axis) {
    return type.layout.is<Sliced>(axis) && type.layout.slice(axis) == group.slice;
  });
}

bool works_on_slice(const Plan& plan, LaunchId launch) {
  const int group = plan.launch(launch).overlap;
  return group >= 0 && cut_as(chunked_type(plan, launch), plan.overlaps[group]);
}

const TensorType& chunked_type(const Plan& plan, LaunchId launch) {
  return std::visit(
      Overloaded{
          [](const Kernel& kernel) -> const TensorType& { return kernel.space; },
          [&](const MatmulLaunch& m) -> const TensorType& { return plan.buffer(m.out).type; },
          [&](const Conv2dLaunch& c) -> const TensorType& { return plan.buffer(c.out).type; },
          [&](const ReduceLaunch& r) -> const TensorType& { return plan.buffer(r.out).type; },
          [&](const MoveLaunch& m) -> const TensorType& { return plan.buffer(m.out).type; },
      },
      plan.launch(launch).work);
}

std::int64_t chunk_rows(const Piece& piece, const Slice& slice) {
  if (slice.flat) return (piece.count() + kBlock - 1) / kBlock;
  const int last = slice.last;
  std::int64_t rows = 1;
  int covered = -1;
  for (const Piece::Group& group : piece.groups()) {
    if (covered >= last) break;
    const Piece::Group* inner = &group;
    while (!inner->children.empty()) inner = &inner->children.back();
    covered = inner->dim;
    rows *= group.count;
  }
  check(covered == last, "the rows of chunks are leading dims that no slice joins with others");
  return rows;
}

std::int64_t row_elements(const Piece& piece, const Slice& slice) {
  const std::int64_t rows = chunk_rows(piece, slice);
  return slice.flat ? kBlock : rows > 0 ? piece.count() / rows : 0;
}

BoundPlan bind(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh,
               const std::vector<std::int64_t>& chunks) {
  const Sizes all = with_axes(sizes, plan.graph.mesh(), mesh);
  check_ranks(mesh);
  check_dims(plan, all);
  check_sizes(plan.graph, all, mesh);
  BoundPlan bound;
  bound.plan = &plan;
  bound.sizes = all;
  bound.mesh = mesh;
  for (const Buffer& buffer : plan.buffers) {
    BoundBuffer out;
    out.sizes = coconet::bind(buffer.type.shape, all);
    out.elements = largest_piece(out.sizes, buffer.type.layout, mesh);
    out.bytes = checked_product(out.elements, size_of(buffer.type.dtype.kind));
    bound.buffers.push_back(std::move(out));
  }
  bound.knobs.assign(plan.overlaps.size(), 1);
  for (const OverlapGroup& group : plan.overlaps) {
    const std::size_t knob = static_cast<std::size_t>(group.knob);
    const Chunking made = chunking_of(bound, group, knob < chunks.size() ? chunks[knob] : 0);
    bound.overlaps.push_back(made);
    bound.knobs.at(knob) = made.chunks;
  }
  for (std::size_t b = 0; b < bound.buffers.size(); ++b) {
    if (plan.buffers[b].ring == 0) continue;
    BoundBuffer& buffer = bound.buffers[b];
    make_ring(bound, plan.buffers[b], buffer);
    buffer.bytes = checked_product(buffer.elements, size_of(plan.buffers[b].type.dtype.kind));
  }
  number_ticks(bound);
  return bound;
}

void check_chunks(const Plan& plan, const std::vector<std::int64_t>& chunks) {
  std::vector<std::string> names;
  for (const Group& group : plan.graph.groups()) {
    if (group.kind == GroupKind::overlapped) names.push_back(group.name);
  }
  for (const OverlapGroup& group : plan.overlaps) {
    if (group.staging) names.push_back(group.name);
  }
  if (chunks.size() <= names.size()) return;
  throw UserError(ErrorKind::usage, "numbers of chunks found: " + std::to_string(chunks.size()) +
                                        "; overlapped groups of this schedule: " + listed(names) +
                                        "; give at most one number for each group");
}

}  // namespace coconet::plan
