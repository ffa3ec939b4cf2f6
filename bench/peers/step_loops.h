// Optimizer steps as a peer's user writes them by hand: one loop, what is constant taken out of it,
// one division and one square root an element. LAMB's norms part it into two.
#pragma once

#include <cmath>
#include <cstdint>

#include "bench/worker/inputs.h"

namespace coconet::bench {

struct StepState {
  float* p;
  float* m;
  float* v;
};

// The scalars as the loops want them.
struct StepConstants {
  StepConstants(const StepScalars& with, int ranks)
      : mean(1.0f / static_cast<float>(ranks)),
        beta1(with.beta1),
        rest1(1 - with.beta1),
        beta2(with.beta2),
        rest2(1 - with.beta2),
        first(1 / (1 - std::pow(with.beta1, static_cast<float>(with.step)))),
        root(1 / std::sqrt(1 - std::pow(with.beta2, static_cast<float>(with.step)))),
        eps(with.eps),
        lr(with.lr),
        wd(with.wd) {}
  float mean, beta1, rest1, beta2, rest2, first, root, eps, lr, wd;
};

// `count` elements of the state; total[0] is the sum of the first one's gradients.
void adam_loop(const StepConstants& with, const float* total, StepState state, std::int64_t count);

struct Squares {
  double p = 0, u = 0;  // sums
};

// LAMB's first loop: m and v, and in place of total the direction u. Adds to the squares, in double
// block by block.
void lamb_first_loop(const StepConstants& with, float* total, StepState state, std::int64_t count,
                     Squares* squares);
void lamb_second_loop(const StepConstants& with, const float* u, float* p, std::int64_t count,
                      const Squares& squares);

}  // namespace coconet::bench
