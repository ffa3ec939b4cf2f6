// The meaning of each kind of operation; interpreter.cc chooses. Internal to interp/.
#pragma once

#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/interp/piece_index.h"
#include "coconet/interp/value.h"

namespace coconet::interp {

struct WideProduct;

// One node with the types and values of its inputs.
struct Evaluation {
  const Node& node;
  std::vector<const TensorType*> types;
  std::vector<const Pieces*> values;
  const Setting& setting;

  int ranks() const { return setting.mesh.ranks(); }
  Piece result_piece(int rank) const { return piece_of(node.type, setting, rank); }
  Piece input_piece(int input, int rank) const { return piece_of(*types[input], setting, rank); }
  const Bytes& input(int i, int rank) const { return (*values[i])[rank]; }
  DTypeKind result_kind() const { return node.type.dtype.kind; }
  DTypeKind input_kind(int i) const { return types[i]->dtype.kind; }
};

Pieces evaluate_constant(const Evaluation& e, const Constant& op);
Pieces evaluate_axis_size(const Evaluation& e, const AxisSize& op);
Pieces evaluate_dim_size(const Evaluation& e, const DimSize& op);

Pieces evaluate_pointwise(const Evaluation& e, const Pointwise& op);
Pieces evaluate_cast(const Evaluation& e);
Pieces evaluate_dropout(const Evaluation& e, const Dropout& op);

Pieces evaluate_matmul(const Evaluation& e);
Pieces evaluate_conv2d(const Evaluation& e);
// See product.h.
WideProduct wide_matmul(const Evaluation& e, int rank, bool with_magnitude);
WideProduct wide_conv2d(const Evaluation& e, int rank, bool with_magnitude);

Pieces evaluate_reduce(const Evaluation& e, const Reduce& op);
Pieces evaluate_norm(const Evaluation& e);
Pieces evaluate_layer_norm(const Evaluation& e);
Pieces evaluate_rms_norm(const Evaluation& e);
Pieces evaluate_softmax(const Evaluation& e);

Pieces evaluate_transpose(const Evaluation& e, const Transpose& op);
Pieces evaluate_reshape(const Evaluation& e);
Pieces evaluate_narrow(const Evaluation& e, const Narrow& op);
Pieces evaluate_concat(const Evaluation& e, const Concat& op);

Pieces evaluate_block_reduce(const Evaluation& e, const BlockReduce& op);
Pieces evaluate_fold_blocks(const Evaluation& e, const FoldBlocks& op);
Pieces evaluate_across(const Evaluation& e, const Across& op);

// all_reduce, reduce_scatter and reduce: the group's fold, of which each rank keeps what its type
// says.
Pieces evaluate_group_fold(const Evaluation& e, Fold fold, const AxisList& axes);
Pieces evaluate_all_gather(const Evaluation& e, const AllGather& op);
Pieces evaluate_broadcast(const Evaluation& e, const Broadcast& op);
// shard and root: each rank keeps of its own piece what the result's type says.
Pieces evaluate_keep(const Evaluation& e);
Pieces evaluate_as_partial(const Evaluation& e, const AsPartial& op);
Pieces evaluate_shift(const Evaluation& e, const Shift& op);
Pieces evaluate_all_to_all(const Evaluation& e, const AllToAll& op);

}  // namespace coconet::interp
