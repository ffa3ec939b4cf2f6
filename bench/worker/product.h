// Matrix product, sum over ranks, bias, dropout, residual: inputs, and what must come out. Inputs
// are whole numbers, of the product -1, 0 and 1, so that f32 holds every sum, and bf16 every part.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "bench/worker/inputs.h"
#include "bench/worker/problem.h"

namespace coconet::bench {

inline float whole(std::int64_t i, std::uint64_t stream, int largest) {
  return std::floor(drawn(i, stream) * static_cast<float>(2 * largest + 1)) -
         static_cast<float>(largest);
}
// Of the rank's own part x[m,k], w[k,n], by index in it.
inline float product_x(int rank, std::int64_t i) {
  return whole(i, static_cast<std::uint64_t>(rank) + 400, 1);
}
inline float product_w(int rank, std::int64_t i) {
  return whole(i, static_cast<std::uint64_t>(rank) + 600, 1);
}
inline float product_bias(std::int64_t column) { return whole(column, 6, 2); }
inline float product_residual(std::int64_t i) { return whole(i, 7, 2); }

inline constexpr float kDropoutRate = 0.1f;
// Of the difference over the size of what was added: some roundings.
inline double product_bound(bool bf16) { return bf16 ? 4 * 0x1p-8 : 2e-6; }

// The sum over ranks of element i of the products.
inline double product_total(const Problem& problem, int ranks, std::int64_t i) {
  const std::int64_t row = i / problem.n, column = i % problem.n;
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::int64_t k = 0; k < problem.k; ++k) {
      sum += product_x(rank, row * problem.k + k) * product_w(rank, k * problem.n + column);
    }
  }
  return sum;
}

// Of some elements all over the result, got(i): how far each is from what it must be, dropped or
// not, over the size of what was added. Infinite if not about as many as should be were dropped.
template <class Got>
double product_difference(const Problem& problem, int ranks, Got&& got) {
  constexpr std::int64_t kCompared = 997;
  const std::int64_t count = problem.m * problem.n;
  const std::int64_t step = std::max<std::int64_t>(1, count / kCompared);
  double worst = 0, kept = 0, seen = 0;
  for (std::int64_t i = 0; i < count; i += step) {
    const double total = product_total(problem, ranks, i) + product_bias(i % problem.n);
    const double r = product_residual(i), scaled = total / (1 - double{kDropoutRate});
    const double size = 1 + std::fabs(total) + std::fabs(r);
    const double if_kept = worse(0, got(i) / size, (scaled + r) / size);
    const double if_dropped = worse(0, got(i) / size, r / size);
    worst = std::max(worst, std::min(if_kept, if_dropped));
    if (std::fabs(total) < 1) continue;
    ++seen;
    kept += if_kept < if_dropped ? 1 : 0;
  }
  const double rate = double{kDropoutRate}, deviation = std::sqrt(seen * rate * (1 - rate));
  return std::fabs(kept - seen * (1 - rate)) > 6 * deviation + 1 ? INFINITY : worst;
}

}  // namespace coconet::bench
