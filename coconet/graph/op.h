// What a node does: one closed variant of payload structs. Attributes stand only here, operands
// only in Node::inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coconet/graph/pointwise_fn.h"
#include "coconet/type/tensor_type.h"

namespace coconet {

// --- Leaves
enum class InputKind { tensor, state, scalar };

// A declared input; its name is the node's. A scalar may have a default.
struct Input {
  InputKind kind = InputKind::tensor;
  TensorType type;
  std::optional<double> default_value;
  friend bool operator==(const Input&, const Input&) = default;
};

// A literal; replicated, 0-dimensional. It has taken its dtype from the operand it meets.
struct Constant {
  std::variant<bool, std::int64_t, double> value;
  DType dtype;
  friend bool operator==(const Constant&, const Constant&) = default;
};

// size(axis): a literal whose value is bound with the mesh.
struct AxisSize {
  int axis = 0;
  DType dtype;
  friend bool operator==(const AxisSize&, const AxisSize&) = default;
};

// size(B*S): a literal whose value, the number of elements, is bound with the dims.
struct DimSize {
  Dim dim;
  DType dtype;
  friend bool operator==(const DimSize&, const DimSize&) = default;
};

// --- Computation
struct Pointwise {
  PointwiseFn fn = PointwiseFn::add;
  friend bool operator==(const Pointwise&, const Pointwise&) = default;
};

struct Cast {
  DType to;
  friend bool operator==(const Cast&, const Cast&) = default;
};

// dropout(x, p): p is an f32 scalar. `site`: the ordinal of the dropout in the program, kept by
// every rewrite.
struct Dropout {
  int site = 0;
  friend bool operator==(const Dropout&, const Dropout&) = default;
};

// a[..., m, k] b[k, n] (b may have the same leading dims: batched); with `ta` a is given as
// [..., k, m], with `tb` b as [..., n, k]. Rounds once to `out`, default the operands' dtype.
struct Matmul {
  std::optional<DType> out;
  bool ta = false, tb = false;
  friend bool operator==(const Matmul&, const Matmul&) = default;
};

// conv2d(x, w): x[N,C,H,W] by w[O,C,KH,KW] to [N,O,OH,OW], the window moved by `stride` over x with
// `padding` zeros on each side of H and W. `size`: OH and OW where they are no product of dims.
struct Conv2d {
  int stride = 1, padding = 0;
  std::optional<Shape> size;
  friend bool operator==(const Conv2d&, const Conv2d&) = default;
};
// How many elements a window of `window` has places for along `size` elements of x.
std::int64_t places_of(const Conv2d& op, std::int64_t size, std::int64_t window);

enum class ReduceFn { sum, max, min, prod, mean };
std::string_view name_of(ReduceFn fn);     // "sum", ...
std::optional<Fold> fold_of(ReduceFn fn);  // none for mean

// Over `dims` (ascending); these stay as literal 1. No dims: tensor-wide, the result 0-dimensional.
struct Reduce {
  ReduceFn fn = ReduceFn::sum;
  std::vector<int> dims;
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

// sqrt of the sum of squares of the whole tensor, in f32 (f64 for f64), rounded once;
// 0-dimensional.
struct Norm {
  std::optional<DType> out;
  friend bool operator==(const Norm&, const Norm&) = default;
};

// layer_norm(x, gamma, beta, eps) over the last dim, in f32, rounded once.
struct LayerNorm {
  friend bool operator==(const LayerNorm&, const LayerNorm&) = default;
};

// rms_norm(x, gamma, eps): x * rsqrt(mean(x * x) + eps) * gamma over the last dim, in f32, rounded
// once.
struct RmsNorm {
  friend bool operator==(const RmsNorm&, const RmsNorm&) = default;
};

// exp(x - max(x)) over its sum, in f32, rounded once. Over `dims` (ascending); none: the last dim.
struct Softmax {
  std::vector<int> dims;
  friend bool operator==(const Softmax&, const Softmax&) = default;
};

// --- Movement of data; no element changes.
// transpose(x, [order]): dim i of the result is dim order[i] of x.
struct Transpose {
  std::vector<int> order;
  friend bool operator==(const Transpose&, const Transpose&) = default;
};
// reshape(x, [dims]): the same elements in the same row-major order.
struct Reshape {
  Shape shape;
  friend bool operator==(const Reshape&, const Reshape&) = default;
};
// narrow(x, dim, start, length): elements [start, start + length) of a dim.
struct Narrow {
  int dim = 0;
  Dim start, length;
  friend bool operator==(const Narrow&, const Narrow&) = default;
};
// concat(x, y, ..., dim): one after the other along a dim, whose size is `size` or, if the
// operands' dims are multiples of one product, their sum.
struct Concat {
  int dim = 0;
  std::optional<Dim> size;
  friend bool operator==(const Concat&, const Concat&) = default;
};

// The canonical block sums (docs/numerics.md) of the flat index: [..] sliced(*) or whole ->
// accumulator[blocks(n)] sliced(0) or whole.
struct BlockReduce {
  Fold fold = Fold::sum;
  bool of_squares = false;
  friend bool operator==(const BlockReduce&, const BlockReduce&) = default;
};

// Folds a replicated vector of block sums in order to a scalar. `mean`: a sum, divided by the
// number of elements that the blocks are of.
struct FoldBlocks {
  Fold fold = Fold::sum;
  bool mean = false;
  friend bool operator==(const FoldBlocks&, const FoldBlocks&) = default;
};

// across(x, op): folds a list, in list order, to one value; rounded once. `size`: of a list of
// tensors, the shape that all members must have.
struct Across {
  Fold fold = Fold::sum;
  std::optional<Shape> size = {};
  friend bool operator==(const Across&, const Across&) = default;
};

// update(p, e): inputs are the storage (an Input node) and the new value; the result is the new
// value of the storage.
struct Update {
  friend bool operator==(const Update&, const Update&) = default;
};

// --- Communication (axes ascending)
struct AllReduce {
  Fold fold = Fold::sum;
  AxisList axes;
  friend bool operator==(const AllReduce&, const AllReduce&) = default;
};
struct ReduceScatter {
  Fold fold = Fold::sum;
  Slice slice;
  AxisList axes;
  friend bool operator==(const ReduceScatter&, const ReduceScatter&) = default;
};
struct AllGather {
  AxisList axes;
  friend bool operator==(const AllGather&, const AllGather&) = default;
};
struct ReduceTo {  // `reduce(x, op, r)`
  Fold fold = Fold::sum;
  int root = 0;
  AxisList axes;
  friend bool operator==(const ReduceTo&, const ReduceTo&) = default;
};
struct Broadcast {  // `broadcast(x)`; `root` given for a local operand
  std::optional<int> root;
  AxisList axes;
  friend bool operator==(const Broadcast&, const Broadcast&) = default;
};
struct Shard {
  Slice slice;
  AxisList axes;
  friend bool operator==(const Shard&, const Shard&) = default;
};
struct RootOf {  // `root(x, r)`
  int root = 0;
  AxisList axes;
  friend bool operator==(const RootOf&, const RootOf&) = default;
};
struct AsPartial {
  Fold fold = Fold::sum;
  AxisList axes;
  friend bool operator==(const AsPartial&, const AsPartial&) = default;
};

// Each rank's value to the rank `by` further on the one axis, around its end if `wrap`; ranks that
// none sends to get zeros. Written `shift(x, axis, by [, wrap])`.
struct Shift {
  int by = 1;
  bool wrap = false;
  AxisList axes;
  friend bool operator==(const Shift&, const Shift&) = default;
};
// Each rank's piece of slice `from` for its piece of slice `to`.
struct AllToAll {
  Slice from, to;
  AxisList axes;
  friend bool operator==(const AllToAll&, const AllToAll&) = default;
};

// The ranks' values as one tensor, by a new leading dim, the size of the one axis: [size, ...]
// sliced(0). Moves nothing.
struct Stack {
  AxisList axes;
  friend bool operator==(const Stack&, const Stack&) = default;
};

using Op =
    std::variant<Input, Constant, AxisSize, DimSize, Pointwise, Cast, Dropout, Matmul, Conv2d,
                 Reduce, Norm, LayerNorm, RmsNorm, Softmax, Transpose, Reshape, Narrow, Concat,
                 BlockReduce, FoldBlocks, Across, Update, AllReduce, ReduceScatter, AllGather,
                 ReduceTo, Broadcast, Shard, RootOf, AsPartial, Shift, AllToAll, Stack>;

std::string_view name_of(const Op& op);  // "add", "all_reduce", "input", ...
std::string_view word_of(const Op& op);  // what a program writes: "+", "all_reduce", ...

// A leaf that stands for a number: no inputs, and copied freely for each reader.
bool is_literal(const Op& op);
// Transpose, Reshape, Narrow or Concat.
bool is_movement(const Op& op);
// Matmul or Conv2d: sums of products, computed by a library in an order of its own.
bool is_product(const Op& op);
// Makes each row of the last dim from all of that row.
bool works_on_rows(const Op& op);
// Moves data between ranks (Shard, RootOf, AsPartial and Stack do not).
bool is_communication(const Op& op);
// Writes each rank's value, or parts of it, to another rank: Shift and AllToAll.
bool is_send(const Op& op);
// The axes an operation of the communication section names, else empty.
AxisList axes_of(const Op& op);

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace coconet
