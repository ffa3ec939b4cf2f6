#include "coconet/runtime/matmul_self_test.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/runtime/matmul.h"

namespace coconet::runtime {

namespace {

using kernel::MatmulCall;
using kernel::MatmulType;
using Bytes = std::vector<std::byte>;

std::int64_t size_of(MatmulType type) {
  if (type == MatmulType::f64) return 8;
  return type == MatmulType::f32 ? 4 : 2;
}

// Values of both signs and of magnitudes from 1/4 to 2, whose mantissas are full: sums of their
// products depend on the order. The bits are made directly, as the types are only storage here.
Bytes values(MatmulType type, std::int64_t count, std::uint64_t seed) {
  const std::int64_t size = size_of(type);
  Bytes out(static_cast<std::size_t>(count * size));
  std::uint64_t state = seed * 2 + 1;
  const int exponent_shift = type == MatmulType::f64    ? 52
                             : type == MatmulType::f32  ? 23
                             : type == MatmulType::bf16 ? 7
                                                        : 10;
  const std::uint64_t bias = type == MatmulType::f64 ? 1023 : type == MatmulType::f16 ? 15 : 127;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t mantissa = (state >> 8) & ((std::uint64_t{1} << exponent_shift) - 1);
    const std::uint64_t exponent = bias - 2 + (state >> 61) % 3;
    const std::uint64_t sign = (state >> 60) & 1;
    const std::uint64_t bits = sign << (size * 8 - 1) | exponent << exponent_shift | mantissa;
    std::memcpy(out.data() + i * size, &bits, static_cast<std::size_t>(size));
  }
  return out;
}

struct Case {
  MatmulType type;
  std::int64_t m, n, k;
};

// One product, whole and in chunks.
class Comparison {
 public:
  explicit Comparison(const Case& c)
      : case_(c),
        size_(size_of(c.type)),
        a_(values(c.type, c.m * c.k, 1)),
        b_(values(c.type, c.k * c.n, 2)),
        whole_(run(0, c.m, 0, c.n, c.n)) {}

  bool rows_agree(std::int64_t chunk) const {
    for (std::int64_t i = 0; i < case_.m; i += chunk) {
      const std::int64_t rows = std::min(chunk, case_.m - i);
      if (!agrees(i, rows, 0, case_.n)) return false;
    }
    return true;
  }

  bool columns_agree(std::int64_t chunk) const {
    for (std::int64_t j = 0; j < case_.n; j += chunk) {
      if (!agrees(0, case_.m, j, std::min(chunk, case_.n - j))) return false;
    }
    return true;
  }

 private:
  Bytes run(std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns,
            std::int64_t out_stride) const {
    Bytes out(static_cast<std::size_t>(rows * out_stride * size_));
    MatmulCall call;
    call.m = rows;
    call.n = columns;
    call.k = case_.k;
    call.a = a_.data() + i * case_.k * size_;
    call.b = b_.data() + j * size_;
    call.out = out.data();
    call.a_stride = case_.k;
    call.b_stride = case_.n;
    call.out_stride = out_stride;
    call.type = call.out_type = case_.type;
    matmul(call);
    return out;
  }

  bool agrees(std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns) const {
    const Bytes part = run(i, rows, j, columns, columns);
    for (std::int64_t row = 0; row < rows; ++row) {
      if (std::memcmp(part.data() + row * columns * size_,
                      whole_.data() + ((i + row) * case_.n + j) * size_,
                      static_cast<std::size_t>(columns * size_)) != 0) {
        return false;
      }
    }
    return true;
  }

  Case case_;
  std::int64_t size_;
  Bytes a_, b_, whole_;
};

std::string text_of(const Case& c, const char* cut, std::int64_t chunk) {
  return "[" + std::to_string(c.m) + "," + std::to_string(c.k) + "] x [" + std::to_string(c.k) +
         "," + std::to_string(c.n) + "] in chunks of " + std::to_string(chunk) + " " + cut;
}

}  // namespace

MatmulSelfTest matmul_self_test(MatmulType type) {
  for (const std::int64_t k : {1, 64, 257, 1100}) {
    for (const std::int64_t n : {2, 65, 256}) {
      const Case c{type, 67, n, k};
      const Comparison comparison(c);
      for (const std::int64_t chunk : {1, 2, 3, 7, 64}) {
        if (!comparison.rows_agree(chunk)) {
          return {false, text_of(c, "rows", chunk) + " differs from one whole product"};
        }
      }
      for (const std::int64_t chunk : {1, 17, 64}) {
        if (chunk < n && !comparison.columns_agree(chunk)) {
          return {false, text_of(c, "columns", chunk) + " differs from one whole product"};
        }
      }
    }
  }
  return {true, "chunks of 1 to 64 rows and columns give the bits of whole products, K 1 to 1100"};
}

}  // namespace coconet::runtime
