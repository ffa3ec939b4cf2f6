// Adam's step as a peer's user writes it by hand: one loop, what is constant taken out of it, one
// division and one square root an element.
#pragma once

#include <cmath>
#include <cstdint>

#include "bench/worker/inputs.h"

namespace coconet::bench {

struct AdamState {
  float* p;
  float* m;
  float* v;
};

// Elements [begin, begin + count) of the state; total[0] is the sum of element `begin`.
inline void adam_loop(const AdamScalars& with, int ranks, const float* total, AdamState state,
                      std::int64_t begin, std::int64_t count) {
  const float mean = 1.0f / static_cast<float>(ranks);
  const float beta1 = with.beta1, rest1 = 1 - beta1, beta2 = with.beta2, rest2 = 1 - beta2;
  const float step = with.lr / (1 - std::pow(beta1, static_cast<float>(with.step)));
  const float root = 1 / std::sqrt(1 - std::pow(beta2, static_cast<float>(with.step)));
  const float eps = with.eps;
  const float* __restrict g = total;
  float* __restrict p = state.p + begin;
  float* __restrict m = state.m + begin;
  float* __restrict v = state.v + begin;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float average = g[i] * mean;
    const float m2 = beta1 * m[i] + rest1 * average;
    const float v2 = beta2 * v[i] + rest2 * average * average;
    m[i] = m2;
    v[i] = v2;
    p[i] -= step * m2 / (std::sqrt(v2) * root + eps);
  }
}

}  // namespace coconet::bench
