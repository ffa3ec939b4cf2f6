// What makes each row of the last dim from all of it, in f32 (f64 for f64), by kernel/lanes.h's
// folds, rounded once:
//
//   layer_norm(x, gamma, beta, eps)   mean = sum(x) / n
//                                     variance = sum((x - mean) * (x - mean)) / n
//                                     y = (x - mean) * rsqrt(variance + eps) * gamma + beta
//   rms_norm(x, gamma, eps)           y = x * rsqrt(sum(x * x) / n + eps) * gamma
//   softmax(x)                        y = exp(x - max(x)) / sum(exp(x - max(x)))
#include "coconet/base/error.h"
#include "coconet/interp/element.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

template <class F, class C>
C folded(const std::vector<C>& row) {
  return kernel::reduce_row<F>(static_cast<std::int64_t>(row.size()),
                               [&](std::int64_t i) { return row[i]; });
}

template <class C>
void scale_to_unit(std::vector<C>* row, C eps) {
  const auto count = static_cast<std::int64_t>(row->size());
  const auto square = [&](std::int64_t i) { return (*row)[i] * (*row)[i]; };
  const C mean = kernel::reduce_row<kernel::Sum>(count, square) / static_cast<C>(count);
  const C scale = kernel::rsqrt(mean + eps);
  for (C& value : *row) value = value * scale;
}

template <class C>
void centre(std::vector<C>* row) {
  const C mean = folded<kernel::Sum>(*row) / static_cast<C>(row->size());
  for (C& value : *row) value = value - mean;
}

template <class C>
void take_shares(std::vector<C>* row) {
  const C largest = folded<kernel::Max>(*row);
  for (C& value : *row) value = kernel::exp(value - largest);
  const C sum = folded<kernel::Sum>(*row);
  for (C& value : *row) value = value / sum;
}

// One rank's rows. Operands but the first are weights over the last dim.
template <class C>
class Rows {
 public:
  Rows(const Evaluation& e, int rank)
      : e_(e), rank_(rank), result_(e.result_piece(rank)), x_(e.input_piece(0, rank)) {}

  // Each row is changed in place by change(row).
  template <class Change>
  void for_each(Bytes* out, const Change& change) {
    if (result_.count() == 0) return;
    check(same_cut(result_, x_), "an operation on rows keeps the placement of its operand");
    const std::int64_t columns = range_of(x_, static_cast<int>(x_.sizes().size()) - 1).count;
    check(columns == x_.sizes().back(), "an operation on rows has whole rows");
    std::vector<C> row(columns);
    for (std::int64_t first = 0; first < result_.count(); first += columns) {
      for (std::int64_t j = 0; j < columns; ++j) row[j] = wide(0, first + j);
      change(&row);
      for (std::int64_t j = 0; j < columns; ++j) {
        const ScalarValue rounded = cast(element_value(kind(), row[j]), e_.result_kind());
        store(rounded, out->data(), first + j);
      }
    }
  }

  // An element of an input.
  C wide(int input, std::int64_t index) const {
    const ScalarValue value = load(e_.input_kind(input), e_.input(input, rank_).data(), index);
    return element_of<C>(cast(value, kind()));
  }

  // The weights, which are those of every row.
  std::vector<C> weights(int input) const {
    const std::int64_t columns = e_.input_piece(input, rank_).count();
    std::vector<C> out;
    for (std::int64_t j = 0; j < columns; ++j) out.push_back(wide(input, j));
    return out;
  }

 private:
  DTypeKind kind() const { return accumulator_of(e_.input_kind(0)); }

  const Evaluation& e_;
  int rank_;
  Piece result_, x_;
};

template <class C>
void norm_of(const Evaluation& e, int rank, Bytes* out) {
  Rows<C> rows(e, rank);
  if (out->empty()) return;  // away from a root the weights are not there either
  const bool centred = std::holds_alternative<LayerNorm>(e.node.op);
  const std::vector<C> gamma = rows.weights(1);
  const std::vector<C> beta = centred ? rows.weights(2) : std::vector<C>();
  const C eps = rows.wide(centred ? 3 : 2, 0);
  rows.for_each(out, [&](std::vector<C>* row) {
    if (centred) centre(row);
    scale_to_unit(row, eps);
    for (std::size_t j = 0; j < row->size(); ++j) (*row)[j] = (*row)[j] * gamma[j];
    for (std::size_t j = 0; j < beta.size(); ++j) (*row)[j] = (*row)[j] + beta[j];
  });
}

Pieces norms(const Evaluation& e) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  const bool f64 = accumulator_of(e.input_kind(0)) == DTypeKind::f64;
  for (int rank = 0; rank < e.ranks(); ++rank) {
    f64 ? norm_of<double>(e, rank, &out[rank]) : norm_of<float>(e, rank, &out[rank]);
  }
  return out;
}

}  // namespace

Pieces evaluate_layer_norm(const Evaluation& e) { return norms(e); }
Pieces evaluate_rms_norm(const Evaluation& e) { return norms(e); }

Pieces evaluate_softmax(const Evaluation& e) {
  Pieces out = zero_pieces(e.node.type, e.setting);
  for (int rank = 0; rank < e.ranks(); ++rank) {
    if (accumulator_of(e.input_kind(0)) == DTypeKind::f64) {
      Rows<double>(e, rank).for_each(&out[rank], take_shares<double>);
    } else {
      Rows<float>(e, rank).for_each(&out[rank], take_shares<float>);
    }
  }
  return out;
}

}  // namespace coconet::interp
