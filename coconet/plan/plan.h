// The plan: every decision made, none left, symbolic in the sizes. All ranks perform the same
// launches in the same order; what differs is which piece each works on. Emitters, executor,
// verifier and simulator read this.
//
// Ticks. Performing the plan advances every rank through the same numbered ticks: a launch outside
// an overlapped group is one tick; the launches of an overlapped group are C ticks each, chunk by
// chunk, interleaved (see OverlapGroup). A wait is "rank j has done tick t".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "coconet/graph/graph.h"

namespace coconet::plan {

struct BufferId {
  int index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(const BufferId&, const BufferId&) = default;
};
struct LaunchId {
  int index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(const LaunchId&, const LaunchId&) = default;
};
struct ValueId {
  int index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

// input and state: the caller's storage; temporary: the plan's own (an output may be either).
enum class BufferRole { input, state, scalar, temporary };

// One rank's piece of a tensor of `type`, dense.
struct Buffer {
  std::string name;
  TensorType type;
  BufferRole role = BufferRole::temporary;
  bool symmetric = false;  // derived: a peer reads or writes it
  int slot = -1;  // derived: buffers of one slot share memory, their lifetimes being disjoint
  LaunchId first, last;  // derived lifetime of a temporary: launches that touch it first and last
  // Derived. Not 0: it has memory for so many chunks of the overlapped group that it lives in,
  // chunk c in place c mod ring; 0: for all of the tensor.
  int ring = 0;
  bool of_caller = false;  // in memory that the caller binds to a call (plan/staging.h): private
};

// --- Kernels ---
// constant over the launch, over a run (a row or a block), or one an element.
enum class Level { call, run, element };

// The element of `buffer` at the visited one (of this rank, or of the peer that a fold is at).
struct Load {
  BufferId buffer;
};
// The fold over the ranks of `axes`, in rank order, of the per-peer value that is its input;
// accumulated in the accumulator of the statement's dtype, rounded once.
struct FoldPeers {
  Fold fold = Fold::sum;
  AxisList axes;
};
// A graph operation on values: a literal, Pointwise, Cast, Dropout or AsPartial.
struct Compute {
  Op op;
};
// The 16-lane reduction over the run of an element-level value (docs/numerics.md).
struct ReduceRun {
  Fold fold = Fold::sum;
};
// The number of elements of a tensor of this shape, as a value of the statement's dtype; one an
// element of a list of scalars: of the members of the packed list that `shape` is.
struct Count {
  Shape shape;
};
// The fold in order of a whole replicated vector, of block sums or a list of scalars; one an
// element of a list of scalars: of the blocks of that member. Of a list of tensors: the fold in
// list order of the members' elements at the visited place of the statement's origin.
struct FoldBuffer {
  BufferId buffer;
  Fold fold = Fold::sum;
};
using Action = std::variant<Load, FoldPeers, Compute, ReduceRun, Count, FoldBuffer>;

struct Statement {
  Action action;
  std::vector<ValueId> inputs;
  DType dtype;
  Level level = Level::element;
  bool per_peer =
      false;  // computed for each peer that a FoldPeers is at, loads reading that peer's buffers
  NodeId origin;  // the graph node it computes a part of
};

// Writes a value to this rank's `buffer`, at the visited element, run or (call level) once; a
// scalar that is rooted elsewhere is not written. With `all`, to the buffer of every rank of these
// axes (with `held`, of those that hold the element); with `to`, to that of the rank that the shift
// sends to, and zeros to this rank's if none sends.
struct Store {
  ValueId value;
  BufferId buffer;
  std::optional<AxisList> all = {};
  bool held = false;
  std::optional<Shift> to = {};
};
// The axes over which a store reaches other ranks; empty for this rank's buffer alone.
AxisList reach_of(const Store& store);

// What ends a run: only the piece; the row (last dim); the block of kBlock elements of the global
// flat index. A kernel over a list goes by blocks, each of one member: a list of scalars is loaded
// once a run, at the member, and a reduction along the run takes the member's elements alone.
enum class RunWidth { piece, row, block };

// Statements in order, performed for every element of the space.
struct Kernel {
  TensorType space;  // shape and layout; its dtype has no meaning
  RunWidth width = RunWidth::piece;
  std::vector<Statement> statements;
  std::vector<Store> stores;
};

// out = a b, on this rank's pieces; b's dims before the last two, if any, are batches. ta, tb: the
// operand is given transposed (then a's dims before the last two are batches too).
struct MatmulLaunch {
  BufferId a, b, out;
  bool ta = false, tb = false;
};

// out = conv2d of x by w, on this rank's pieces.
struct Conv2dLaunch {
  BufferId x, w, out;
  Conv2d op;
};

// out = reduction of `in` over `dims`, any dims, 16 lanes over the reduced index in row-major
// order; mean divides by the count. No dims: of all that the rank holds, in blocks of kBlock of the
// held index, folded in order.
struct ReduceLaunch {
  ReduceFn fn = ReduceFn::sum;
  std::vector<int> dims;
  BufferId in, out;
};

// out = elements of `in`, moved. `order`: dim d of out is dim order[d] of in. `dim`: the operands
// one after the other along it, each from element `start` on. Neither: in the same order.
struct MoveLaunch {
  std::vector<BufferId> in;
  BufferId out;
  std::vector<int> order;
  std::optional<int> dim;
  Dim start = Dim(0);
};

using Work = std::variant<Kernel, MatmulLaunch, Conv2dLaunch, ReduceLaunch, MoveLaunch>;

// --- Order ---
// A rank that performs the waiting launch first waits until the other ranks of `axes` have done
// `on`: all of it, or, inside one overlapped group, the same chunk of it (`same_chunk`), or the one
// `behind` before that, if there is one; or, where `on` is no launch, until they have entered the
// call (tick 0).
struct Wait {
  LaunchId on;
  AxisList axes;
  bool same_chunk = false;
  int behind = 0;
  friend bool operator==(const Wait&, const Wait&) = default;
};

struct Launch {
  std::string name;  // what a person calls it: "ar", "layer", "ar phase 2"
  std::vector<NodeId> origins;
  Where where;
  Work work;
  int overlap = -1;         // index in Plan::overlaps, or -1
  int lag = 0;              // inside an overlapped group: chunk c runs at beat c + lag
  std::vector<Wait> waits;  // derived
  bool signals = false;     // derived: some wait is on it; it publishes each turn that is done
  bool staging = false;     // a copy to or from memory of the caller's (plan/staging.h)
};

// Launches first..last (adjacent) run chunk by chunk: at beat t, each in order performs chunk t -
// lag. Chunk c is the c-th piece of the rows of every owner's slice: the whole tensors' launches
// work on that of all owners, the sliced ones on their own. Rows are what the leading dims of the
// slice are together; of slices (*), blocks of the flat index. The number of chunks is knob `knob`
// of the call.
struct OverlapGroup {
  std::string name;
  LaunchId first, last;
  Slice slice;    // a range of leading dims, or (*)
  AxisList axes;  // whose ranks own the slices
  int knob = 0;
  // What its launches touch by rows alone: in chunk c, chunk c.
  std::vector<BufferId> by_rows;
  bool staging = false;  // of no schedule: copies between the caller's memory and the heap, and
                         // what reads or writes there; a chunk is what stays in a core's cache
};

struct PlanOutput {
  std::string name;
  BufferId buffer;
};

struct Plan {
  Graph graph;           // what it performs, for names and places
  std::string schedule;  // its name, or ""
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<OverlapGroup> overlaps;
  std::vector<PlanOutput> outputs;
  std::vector<Wait> exit_waits;  // derived: before a rank may return
  // Of overlapped groups: what does not run chunk by chunk, and why.
  std::vector<std::string> notes;

  const Buffer& buffer(BufferId id) const { return buffers.at(id.index); }
  // Of a list of tensors, element by element.
  bool is_across_members(const FoldBuffer& fold) const {
    const TensorType& type = buffer(fold.buffer).type;
    return type.is_list() && !type.is_scalar_list();
  }
  const Launch& launch(LaunchId id) const { return launches.at(id.index); }
  // The packed dims of its lists, each once, in the order of the buffers: a call has a table of
  // each (kernel/list.h).
  std::vector<Dim> lists() const;
  // The storage of an Input by name; invalid if there is none.
  BufferId parameter(std::string_view name) const;
};

// The plan's text: buffers, launches with their statements, waits.
std::string print(const Plan& plan);
std::string print_launch(const Plan& plan, LaunchId id);
// Of the printed plan; ranks compare it.
std::uint64_t hash_of(const Plan& plan);

}  // namespace coconet::plan
