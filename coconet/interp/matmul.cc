// Matrix products: each rank multiplies the pieces it has; over a sliced K its product is partial.
#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/interp/operations.h"
#include "coconet/interp/product.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

// One rank's operands and result. A row of the result is a run of its last dim.
struct Geometry {
  Piece a, b, out;
  Cut k;                 // the part of K that both operands have
  std::int64_t columns;  // of the result
  // Between elements of an operand: along k, and of b along a row of the result.
  std::int64_t a_along_k, b_along_k, b_along_row;
  bool ta, tb;
};

Geometry geometry_of(const Evaluation& e, int rank) {
  const Matmul& op = std::get<Matmul>(e.node.op);
  Piece a = e.input_piece(0, rank), b = e.input_piece(1, rank), out = e.result_piece(rank);
  const int last_of_a = static_cast<int>(a.sizes().size()) - 1;
  const int last_of_b = static_cast<int>(b.sizes().size()) - 1;
  const int k_of_a = op.ta ? last_of_a - 1 : last_of_a;
  const int k_of_b = op.tb ? last_of_b : last_of_b - 1;
  const Cut in_a = range_of(a, k_of_a), in_b = range_of(b, k_of_b);
  const std::int64_t begin = std::max(in_a.begin, in_b.begin);
  const std::int64_t end = std::min(in_a.begin + in_a.count, in_b.begin + in_b.count);
  const std::int64_t columns = range_of(out, static_cast<int>(out.sizes().size()) - 1).count;
  const std::int64_t row_of_a = range_of(a, last_of_a).count,
                     row_of_b = range_of(b, last_of_b).count;
  const Cut k{begin, std::max<std::int64_t>(0, end - begin)};
  return {std::move(a),         std::move(b),         std::move(out),       k,     columns,
          op.ta ? row_of_a : 1, op.tb ? 1 : row_of_b, op.tb ? row_of_b : 1, op.ta, op.tb};
}

// Calls row(first element of the result, first element of a, first element of b) for each row.
// Requires: the result has elements and k is not empty.
template <class Row>
void for_each_row(const Geometry& g, const Row& row) {
  const std::size_t dims = g.out.sizes().size();
  Coordinates at_out(dims), at_a(g.a.sizes().size()), at_b(g.b.sizes().size());
  for (std::int64_t first = 0; first < g.out.count(); first += g.columns) {
    coordinates_of(g.out, first, &at_out);
    // a: [batch..., m, k]; b: [k, n] or [batch..., k, n]; the last two swapped if transposed.
    for (std::size_t d = 0; d + 1 < at_a.size(); ++d) {
      at_a[d] = g.a.sizes()[d] == 1 ? 0 : at_out[dims - at_a.size() + d];
    }
    at_a.back() = g.k.begin;
    if (g.ta) {
      at_a[at_a.size() - 2] = g.k.begin;
      at_a.back() = at_out[dims - 2];
    }
    for (std::size_t d = 0; d + 2 < at_b.size(); ++d) {
      at_b[d] = g.b.sizes()[d] == 1 ? 0 : at_out[dims - at_b.size() + d];
    }
    at_b[at_b.size() - 2] = g.k.begin;
    at_b.back() = at_out.back();
    if (g.tb) std::swap(at_b[at_b.size() - 2], at_b.back());
    const std::int64_t a_first = local_of(g.a, at_a), b_first = local_of(g.b, at_b);
    check(a_first >= 0 && b_first >= 0, "matmul's operands hold what the result needs");
    row(first, a_first, b_first);
  }
}

// Terms are added in the order of k, several to a visit of the row.
std::vector<double> product(const Geometry& g, const std::vector<double>& a,
                            const std::vector<double>& b) {
  std::vector<double> out(g.out.count(), 0.0);
  if (out.empty() || g.k.count == 0) return out;
  for_each_row(g, [&](std::int64_t first, std::int64_t a_first, std::int64_t b_first) {
    double* row = &out[first];
    const auto scale = [&](std::int64_t k) { return a[a_first + k * g.a_along_k]; };
    std::int64_t k = 0;
    for (; g.b_along_row == 1 && k + 4 <= g.k.count; k += 4) {
      const double s[] = {scale(k), scale(k + 1), scale(k + 2), scale(k + 3)};
      const double* b0 = &b[b_first + k * g.b_along_k];
      const double *b1 = b0 + g.b_along_k, *b2 = b1 + g.b_along_k, *b3 = b2 + g.b_along_k;
      for (std::int64_t j = 0; j < g.columns; ++j) {
        row[j] = (((row[j] + s[0] * b0[j]) + s[1] * b1[j]) + s[2] * b2[j]) + s[3] * b3[j];
      }
    }
    for (; k < g.k.count; ++k) {
      const double* b_row = &b[b_first + k * g.b_along_k];
      for (std::int64_t j = 0; j < g.columns; ++j) row[j] += scale(k) * b_row[j * g.b_along_row];
    }
  });
  return out;
}

// Sums of integers wrap.
Bytes integer_matmul(const Evaluation& e, int rank) {
  const Geometry g = geometry_of(e, rank);
  const DTypeKind kind = e.result_kind();
  Bytes out(g.out.count() * size_of(kind));
  if (out.empty() || g.k.count == 0) return out;
  const auto operand = [&](int i, std::int64_t at) {
    return cast(load(e.input_kind(i), e.input(i, rank).data(), at), kind);
  };
  for_each_row(g, [&](std::int64_t first, std::int64_t a_first, std::int64_t b_first) {
    for (std::int64_t j = 0; j < g.columns; ++j) {
      ScalarValue sum = identity(Fold::sum, kind);
      for (std::int64_t k = 0; k < g.k.count; ++k) {
        const ScalarValue factors[] = {operand(0, a_first + k * g.a_along_k),
                                       operand(1, b_first + k * g.b_along_k + j * g.b_along_row)};
        sum = fold_step(Fold::sum, sum, apply(PointwiseFn::mul, factors));
      }
      store(sum, out.data(), first + j);
    }
  });
  return out;
}

}  // namespace

WideProduct wide_matmul(const Evaluation& e, int rank, bool with_magnitude) {
  const Geometry g = geometry_of(e, rank);
  const auto multiply = [&](bool magnitudes) {
    return product(g, widened(e.input_kind(0), e.input(0, rank), magnitudes),
                   widened(e.input_kind(1), e.input(1, rank), magnitudes));
  };
  WideProduct out;
  out.value = multiply(false);
  if (with_magnitude) out.magnitude = multiply(true);
  out.terms = g.k.count;
  return out;
}

std::vector<std::vector<double>> matmul_magnitude(const Graph& graph, NodeId id,
                                                  const std::vector<const Pieces*>& inputs,
                                                  const Setting& setting) {
  const Node& node = graph.node(id);
  std::vector<const TensorType*> types;
  for (NodeId input : node.inputs) types.push_back(&graph.node(input).type);
  std::vector<std::vector<double>> out;
  for (int rank = 0; rank < setting.mesh.ranks(); ++rank) {
    out.push_back(wide_product(node, types, inputs, setting, rank, true).magnitude);
  }
  return out;
}

Pieces evaluate_matmul(const Evaluation& e) {
  Pieces out(e.ranks());
  const DTypeKind kind = e.result_kind();
  for (int rank = 0; rank < e.ranks(); ++rank) {
    if (!is_floating(kind)) {
      out[rank] = integer_matmul(e, rank);
      continue;
    }
    out[rank] = rounded(wide_matmul(e, rank, false).value, kind);
  }
  return out;
}

}  // namespace coconet::interp
