// Sum, residual and rms_norm of rows of bf16: inputs, the loop as a peer's user writes it, what
// must come out. Inputs are multiples of a quarter, so that bf16 holds every sum of them.
#pragma once

#include <cmath>
#include <cstdint>

#include "bench/worker/half.h"
#include "bench/worker/inputs.h"

namespace coconet::bench {

inline float quarters(std::int64_t i, std::uint64_t stream) {
  return std::floor(drawn(i, stream) * 17) / 4 - 2;  // -2 to 2
}
inline float row_part(int rank, std::int64_t i) {
  return quarters(i, static_cast<std::uint64_t>(rank) + 200);
}
inline float row_residual(std::int64_t i) { return quarters(i, 4); }
inline float row_gamma(std::int64_t column) { return 1 + quarters(column, 5) / 8; }

inline constexpr float kRowEps = 1e-5f;
// Of the largest difference: a rounding of values up to some 6, and of f32 before it.
inline constexpr double kRowBound = 0.03;

// The largest difference of a row to what it must be.
inline double row_difference(const Bf16* added, const Bf16* out, int ranks, std::int64_t row,
                             std::int64_t columns) {
  const auto want = [&](std::int64_t j) {
    const std::int64_t i = row * columns + j;
    double sum = row_residual(i);
    for (int rank = 0; rank < ranks; ++rank) sum += row_part(rank, i);
    return sum;
  };
  double squares = 0, worst = 0;
  for (std::int64_t j = 0; j < columns; ++j) squares += want(j) * want(j);
  const double scale = 1 / std::sqrt(squares / static_cast<double>(columns) + kRowEps);
  for (std::int64_t j = 0; j < columns; ++j) {
    worst = worse(worst, widened(added[j]), want(j));
    worst = worse(worst, widened(out[j]), want(j) * scale * row_gamma(j));
  }
  return worst;
}

}  // namespace coconet::bench
