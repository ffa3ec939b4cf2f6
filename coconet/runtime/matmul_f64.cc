#include "coconet/runtime/matmul_f64.h"

#include <algorithm>

namespace coconet::runtime {

namespace {

// A tile of the output is kept in registers while k runs over all of K.
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = 4;

struct Operands {
  const double* a;
  const double* b;
  double* out;
  std::int64_t k;
  std::int64_t a_row, a_k, b_k, b_column, out_stride;  // between neighbours along each
};

void full_tile(const Operands& at) {
  double sum[kRows][kColumns] = {};
  for (std::int64_t k = 0; k < at.k; ++k) {
    const double* b = at.b + k * at.b_k;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const double a = at.a[i * at.a_row + k * at.a_k];
      for (std::int64_t j = 0; j < kColumns; ++j) sum[i][j] += a * b[j * at.b_column];
    }
  }
  for (std::int64_t i = 0; i < kRows; ++i) {
    std::copy_n(sum[i], kColumns, at.out + i * at.out_stride);
  }
}

void partial_tile(const Operands& at, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < at.k; ++k) {
        sum += at.a[i * at.a_row + k * at.a_k] * at.b[k * at.b_k + j * at.b_column];
      }
      at.out[i * at.out_stride + j] = sum;
    }
  }
}

}  // namespace

// Columns outside, so that a strip of b stays in the cache while all rows pass.
void matmul_f64(const kernel::MatmulCall& call) {
  const std::int64_t a_row = call.ta ? 1 : call.a_stride, a_k = call.ta ? call.a_stride : 1;
  const std::int64_t b_k = call.tb ? 1 : call.b_stride, b_column = call.tb ? call.b_stride : 1;
  for (std::int64_t j = 0; j < call.n; j += kColumns) {
    for (std::int64_t i = 0; i < call.m; i += kRows) {
      const Operands at{static_cast<const double*>(call.a) + i * a_row,
                        static_cast<const double*>(call.b) + j * b_column,
                        static_cast<double*>(call.out) + i * call.out_stride + j,
                        call.k,
                        a_row,
                        a_k,
                        b_k,
                        b_column,
                        call.out_stride};
      const std::int64_t rows = std::min(kRows, call.m - i);
      const std::int64_t columns = std::min(kColumns, call.n - j);
      if (rows == kRows && columns == kColumns) {
        full_tile(at);
      } else {
        partial_tile(at, rows, columns);
      }
    }
  }
}

}  // namespace coconet::runtime
