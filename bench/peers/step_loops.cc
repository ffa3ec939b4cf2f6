#include "bench/peers/step_loops.h"

#include <algorithm>
#include <cmath>

namespace coconet::bench {

void adam_loop(const StepConstants& with, const float* total, StepState state, std::int64_t count) {
  const StepConstants c = with;
  const float step = c.lr * c.first;
  const float* __restrict g = total;
  float* __restrict p = state.p;
  float* __restrict m = state.m;
  float* __restrict v = state.v;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float average = g[i] * c.mean;
    const float m2 = c.beta1 * m[i] + c.rest1 * average;
    const float v2 = c.beta2 * v[i] + c.rest2 * average * average;
    m[i] = m2;
    v[i] = v2;
    p[i] -= step * m2 / (std::sqrt(v2) * c.root + c.eps);
  }
}

void lamb_first_loop(const StepConstants& with, float* total, StepState state, std::int64_t count,
                     Squares* squares) {
  constexpr std::int64_t kBlock = 1024;
  const StepConstants c = with;
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t end = std::min(count, at + kBlock);
    float* __restrict g = total;
    const float* __restrict p = state.p;
    float* __restrict m = state.m;
    float* __restrict v = state.v;
    float of_p = 0, of_u = 0;
#pragma omp simd reduction(+ : of_p, of_u)
    for (std::int64_t i = at; i < end; ++i) {
      const float average = g[i] * c.mean;
      const float m2 = c.beta1 * m[i] + c.rest1 * average;
      const float v2 = c.beta2 * v[i] + c.rest2 * average * average;
      m[i] = m2;
      v[i] = v2;
      const float u = c.first * m2 / (std::sqrt(v2) * c.root + c.eps) + c.wd * p[i];
      g[i] = u;
      of_p += p[i] * p[i];
      of_u += u * u;
    }
    squares->p += static_cast<double>(of_p);
    squares->u += static_cast<double>(of_u);
  }
}

void lamb_second_loop(const StepConstants& with, const float* u, float* p, std::int64_t count,
                      const Squares& squares) {
  const double ratio = squares.p > 0 && squares.u > 0 ? std::sqrt(squares.p / squares.u) : 1;
  const float step = with.lr * static_cast<float>(ratio);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) p[i] -= step * u[i];
}

}  // namespace coconet::bench
