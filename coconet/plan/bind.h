// A plan with its sizes: how large buffers are, how many chunks groups have, and when each launch
// runs.
//
// Ticks. Launches stand in one order. One outside an overlapped group takes one tick. A group of M
// launches with C chunks and a greatest lag L takes M * (C + L) ticks after those before: its m-th
// launch does chunk c at the ((c + lag) * M + m + 1)-th of them. Ticks without work exist and
// count: a rank passes them.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/plan/plan.h"
#include "coconet/type/piece.h"

namespace coconet::plan {

inline constexpr int kMaxRanks = 256;

// A launch's work in one chunk; outside overlapped groups chunk 0 is all of it.
struct Turn {
  LaunchId launch;
  int chunk = 0;
  std::int64_t tick = 0;
};

struct BoundBuffer {
  std::vector<std::int64_t> sizes;  // of the global tensor
  int ring = 0;                     // Buffer::ring; 0 where that would not take less than all
  int owners = 1;                   // of a ring: of whose slices it holds rows
  std::int64_t elements = 0;        // the most that any rank has memory for
  std::int64_t bytes = 0;
};

// Chunk c of an overlapped group is rows [c * rows, (c + 1) * rows) of every owner's slice.
struct Chunking {
  int chunks = 1;
  std::int64_t rows = 1;
  std::int64_t slice_rows = 0;  // of the largest slice
  int launches = 0;
  int greatest_lag = 0;
};

struct BoundPlan {
  const Plan* plan = nullptr;  // must outlive this
  Sizes sizes;
  MeshSizes mesh;
  std::vector<BoundBuffer> buffers;
  std::vector<Chunking> overlaps;
  std::vector<std::int64_t> knobs;  // by OverlapGroup::knob: the number of chunks
  std::vector<Turn> turns;          // of every rank, by tick
  std::vector<std::int64_t> first;  // by launch: the tick of its chunk 0
  std::int64_t ticks = 0;           // the last tick

  Piece piece(const TensorType& type, int rank) const;
  int chunks_of(LaunchId launch) const;
  std::int64_t tick(LaunchId launch, int chunk) const;
  std::int64_t last_tick(LaunchId launch) const { return tick(launch, chunks_of(launch) - 1); }
};

// `chunks`, by knob: 0 or left out for about 64 rows of the largest slice in a chunk, at most 8
// chunks (of a staging group: for 256 KiB that a rank copies in a chunk); never more chunks than
// the largest slice has rows, or than 65,536. UserError for a dim without size, a mesh of another
// number of axes or of more than kMaxRanks ranks, a root that is no rank of its axis, a number of
// chunks below 0.
BoundPlan bind(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh,
               const std::vector<std::int64_t>& chunks = {});
BoundPlan bind(Plan&&, const Sizes&, const MeshSizes&,
               const std::vector<std::int64_t>& = {}) = delete;

// Whose buffer `rank` writes in a shift: that of the rank it sends to, and its own (zeros) if none
// sends to it.
std::vector<int> receivers(const BoundPlan& bound, const Shift& shift, int rank);

// The ranks of the group's axes hold slices of the tensor, cut as the group cuts.
bool cut_as(const TensorType& type, const OverlapGroup& group);
// Whether the launch works on the rows of its own slice (its chunked_type is cut as the group cuts)
// or on those of every owner of a whole tensor.
bool works_on_slice(const Plan& plan, LaunchId launch);
// UserError(usage) for more numbers of chunks than the schedule has overlapped groups (one that the
// plan does not chunk has a number too) and the plan groups for staging, which come after them.
// bind leaves out those of no group.
void check_chunks(const Plan& plan, const std::vector<std::int64_t>& chunks);

// The tensor whose leading rows the chunks of the launch cut: a kernel's space, else the result.
const TensorType& chunked_type(const Plan& plan, LaunchId launch);

// The rows of a piece of which chunks along `slice` are made (OverlapGroup). InternalError if a
// slice takes the dims of a row together with others.
std::int64_t chunk_rows(const Piece& piece, const Slice& slice);
// How many elements such a row has.
std::int64_t row_elements(const Piece& piece, const Slice& slice);

}  // namespace coconet::plan
