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
  std::int64_t k, a_stride, b_stride, out_stride;
};

void full_tile(const Operands& at) {
  double sum[kRows][kColumns] = {};
  for (std::int64_t k = 0; k < at.k; ++k) {
    const double* b = at.b + k * at.b_stride;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const double a = at.a[i * at.a_stride + k];
      for (std::int64_t j = 0; j < kColumns; ++j) sum[i][j] += a * b[j];
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
        sum += at.a[i * at.a_stride + k] * at.b[k * at.b_stride + j];
      }
      at.out[i * at.out_stride + j] = sum;
    }
  }
}

}  // namespace

// Columns outside, so that a strip of b stays in the cache while all rows pass.
void matmul_f64(const kernel::MatmulCall& call) {
  for (std::int64_t j = 0; j < call.n; j += kColumns) {
    for (std::int64_t i = 0; i < call.m; i += kRows) {
      const Operands at{static_cast<const double*>(call.a) + i * call.a_stride,
                        static_cast<const double*>(call.b) + j,
                        static_cast<double*>(call.out) + i * call.out_stride + j,
                        call.k,
                        call.a_stride,
                        call.b_stride,
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
