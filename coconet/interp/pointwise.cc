// Operations element by element: each operand is read where the broadcast puts it.
#include <array>
#include <optional>

#include "coconet/base/error.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

// The same value on every rank that holds one.
Pieces everywhere(const Evaluation& e, const ScalarValue& value) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (Bytes& piece : out) {
    if (!piece.empty()) store(value, piece.data(), 0);
  }
  return out;
}

constexpr int kMostOperands = 3;

// Where operand `i` of a rank has what belongs to an element: one of a list of scalars serves all
// elements of its member.
class ElementIndex {
 public:
  ElementIndex(const Evaluation& e, int i, const Piece& result, const Piece& held)
      : index_(result, *e.types[i], held) {
    if (!e.types[i]->is_scalar_list() || e.node.type.is_scalar_list()) return;
    members_ = members_of(e.node.type, e.setting);
    first_ = result.count() > 0 ? result.global(0) : 0;  // a list's piece is one run
  }
  std::int64_t at(std::int64_t local) {
    return members_ ? members_->member_of((first_ + local) / kBlock) : index_.at(local);
  }

 private:
  OperandIndex index_;
  std::optional<ListBlocks> members_;
  std::int64_t first_ = 0;
};

}  // namespace

Pieces evaluate_constant(const Evaluation& e, const Constant& op) {
  return everywhere(e, value_of(op));
}

Pieces evaluate_axis_size(const Evaluation& e, const AxisSize& op) {
  return everywhere(e, value_of(op, e.setting.mesh));
}

Pieces evaluate_dim_size(const Evaluation& e, const DimSize& op) {
  return everywhere(e, value_of(op, e.setting.sizes));
}

Pieces evaluate_pointwise(const Evaluation& e, const Pointwise& op) {
  const int operands = static_cast<int>(e.types.size());
  check(operands <= kMostOperands && operands == arity_of(op.fn),
        "a pointwise function has its number of operands");
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece result = e.result_piece(rank);
    std::vector<Piece> held;
    for (int i = 0; i < operands; ++i) held.push_back(e.input_piece(i, rank));
    std::vector<ElementIndex> index;
    for (int i = 0; i < operands; ++i) index.emplace_back(e, i, result, held[i]);
    std::array<ScalarValue, kMostOperands> arguments;
    for (std::int64_t i = 0; i < result.count(); ++i) {
      for (int j = 0; j < operands; ++j) {
        arguments[j] = load(e.input_kind(j), e.input(j, rank).data(), index[j].at(i));
      }
      store(apply(op.fn, arguments.data()), out[rank].data(), i);
    }
  }
  return out;
}

Pieces evaluate_cast(const Evaluation& e) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    const Piece result = e.result_piece(rank);
    const Piece held = e.input_piece(0, rank);
    OperandIndex index(result, *e.types[0], held);
    for (std::int64_t i = 0; i < result.count(); ++i) {
      const ScalarValue value = load(e.input_kind(0), e.input(0, rank).data(), index.at(i));
      store(cast(value, e.result_kind()), out[rank].data(), i);
    }
  }
  return out;
}

}  // namespace coconet::interp
