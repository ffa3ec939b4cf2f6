// The inference rules by kind of operation, and what they share. Included by infer*.cc only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "coconet/graph/requirement.h"

namespace coconet::rules {

// An operation on operands, as a message shows it: "sqrt(f32[N] partial(+))".
struct Call {
  const Op& op;
  std::span<const TensorType> operands;
  const Mesh& mesh;
  Requirements requirements;
  std::string text() const;
  std::string on(int axis) const;                    // "on axis tp"
  const Placement& at(int operand, int axis) const;  // of an operand
};

// UserError(type): what was found and needed, and what would be legal.
[[noreturn]] void refuse(const Call& call, const std::string& why, const std::string& legal);
void need_operands(const Call& call, int count);  // InternalError otherwise

// What the dtype of an operand must be.
void need_numbers(const Call& call, const DType& dtype);
void need_floating(const Call& call, const DType& dtype);
// `more`: what else would be legal.
void need_one_dtype(const Call& call, const DType& a, const DType& b, const std::string& more = "");

bool is_sum(const Placement& placement);  // partial(+)
// The layout with every slice's dims moved up by `offset`.
Layout moved(const Layout& layout, int offset);
// `base` (no slices) with the slices of the operands, all given in the result's dims; an axis has
// the same slice in every operand that slices it. Refuses unless every operand's axis list is, on
// each group of overlapping slices, the result's or a prefix of it.
Layout with_slices(const Call& call, Layout base, const std::vector<Layout>& operands);

// The placement of a pointwise result on one axis where no operand is partial, `at` being the
// operands' placements in the result's dims.
Placement joined(const Call& call, int axis, const std::vector<Placement>& at);

// Refuses operations that do not map over lists on one, and folds of lists of scalars.
void check_lists(const Call& call);
// The type of one value a member of the list `x`, placed as x is.
TensorType of_members(const TensorType& x, const DType& dtype);

TensorType pointwise(const Call& call, const Pointwise& op);
TensorType cast(const Call& call, const Cast& op);
TensorType dropout(const Call& call);
TensorType matmul(const Call& call, const Matmul& op);
TensorType conv2d(const Call& call, const Conv2d& op);
TensorType reduce(const Call& call, const Reduce& op);
TensorType norm(const Call& call, const Norm& op);
TensorType layer_norm(const Call& call);
TensorType rms_norm(const Call& call);
TensorType softmax(const Call& call, const Softmax& op);
TensorType transpose(const Call& call, const Transpose& op);
TensorType reshape(const Call& call, const Reshape& op);
TensorType narrow(const Call& call, const Narrow& op);
TensorType concat(const Call& call, const Concat& op);
TensorType block_reduce(const Call& call, const BlockReduce& op);
TensorType fold_blocks(const Call& call, const FoldBlocks& op);
TensorType across(const Call& call, const Across& op);
TensorType update(const Call& call);
TensorType all_reduce(const Call& call, const AllReduce& op);
TensorType reduce_scatter(const Call& call, const ReduceScatter& op);
TensorType all_gather(const Call& call, const AllGather& op);
TensorType reduce_to(const Call& call, const ReduceTo& op);
TensorType broadcast(const Call& call, const Broadcast& op);
TensorType shard(const Call& call, const Shard& op);
TensorType root_of(const Call& call, const RootOf& op);
TensorType as_partial(const Call& call, const AsPartial& op);
TensorType shift(const Call& call);
TensorType all_to_all(const Call& call, const AllToAll& op);
TensorType stack(const Call& call);

}  // namespace coconet::rules
