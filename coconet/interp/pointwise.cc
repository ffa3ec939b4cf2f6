// Operations element by element: each operand is read where the broadcast puts it.
#include <array>

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
    std::vector<OperandIndex> index;
    for (int i = 0; i < operands; ++i) index.emplace_back(result, *e.types[i], held[i]);
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
