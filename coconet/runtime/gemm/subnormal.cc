#include "coconet/runtime/gemm/subnormal.h"

#include <cmath>
#include <cstddef>
#include <numeric>

#include "coconet/kernel/float16.h"
#include "coconet/runtime/gemm/convert.h"

namespace coconet::gemm {

namespace {

using kernel::MatmulCall;

// Element [row, column] of a matrix, which may be given transposed.
struct Matrix {
  const std::uint16_t* data;
  std::int64_t row_step, column_step;

  Matrix(const void* data, std::int64_t stride, bool transposed)
      : data(static_cast<const std::uint16_t*>(data)),
        row_step(transposed ? 1 : stride),
        column_step(transposed ? stride : 1) {}
  std::uint16_t at(std::int64_t row, std::int64_t column) const {
    return data[row * row_step + column * column_step];
  }
};

float widened(std::uint16_t bits) { return kernel::bf16{bits}.to_float(); }

// `sums` has room for as many as `columns`.
void make_row(const MatmulCall& call, std::int64_t row, const std::vector<std::int64_t>& columns,
              std::vector<float>& sums) {
  const Matrix a(call.a, call.a_stride, call.ta), b(call.b, call.b_stride, call.tb);
  std::fill(sums.begin(), sums.end(), 0.0f);
  for (std::int64_t k = 0; k < call.k; ++k) {
    const float left = widened(a.at(row, k));
    for (std::size_t j = 0; j < columns.size(); ++j) {
      sums[j] = std::fma(left, widened(b.at(k, columns[j])), sums[j]);
    }
  }
  auto* const out = static_cast<std::byte*>(call.out);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const std::int64_t at = row * call.out_stride + columns[j];
    narrow(&sums[j], 1, call.out_type, out + at * size_of(call.out_type));
  }
}

}  // namespace

std::vector<std::int64_t> special_rows(const MatmulCall& call) {
  const Matrix a(call.a, call.a_stride, call.ta);
  std::vector<std::int64_t> out;
  for (std::int64_t row = 0; row < call.m; ++row) {
    bool found = false;
    for (std::int64_t k = 0; k < call.k; ++k) found |= is_special(a.at(row, k));
    if (found) out.push_back(row);
  }
  return out;
}

std::vector<std::int64_t> special_columns(const MatmulCall& call) {
  const Matrix b(call.b, call.b_stride, call.tb);
  std::vector<char> found(static_cast<std::size_t>(call.n), 0);
  for (std::int64_t k = 0; k < call.k; ++k) {
    for (std::int64_t column = 0; column < call.n; ++column) {
      found[static_cast<std::size_t>(column)] |= is_special(b.at(k, column)) ? 1 : 0;
    }
  }
  std::vector<std::int64_t> out;
  for (std::int64_t column = 0; column < call.n; ++column) {
    if (found[static_cast<std::size_t>(column)] != 0) out.push_back(column);
  }
  return out;
}

void multiply_again(const MatmulCall& call, const std::vector<std::int64_t>& rows,
                    const std::vector<std::int64_t>& columns) {
  std::vector<std::int64_t> all(rows.empty() ? 0 : static_cast<std::size_t>(call.n));
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> sums(all.size());
  for (const std::int64_t row : rows) make_row(call, row, all, sums);
  if (columns.empty()) return;
  sums.resize(columns.size());
  for (std::int64_t row = 0; row < call.m; ++row) make_row(call, row, columns, sums);
}

}  // namespace coconet::gemm
