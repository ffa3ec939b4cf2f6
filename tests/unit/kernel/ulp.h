// Errors in units in the last place of the exact result.
#pragma once

#include <cmath>
#include <limits>

namespace coconet::kernel {

// The error of `got` against the exact value `want`, in units of F's last place at `want` (of the
// subnormals below the normal range). Infinite if one is NaN and the other not, or if an infinity
// stands where `want`, rounded to F, is finite, or the other way round.
template <class F, class Reference>
double ulp_error(F got, Reference want) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  const F nearest = static_cast<F>(want);
  if (std::isinf(got) || std::isinf(nearest)) return got == nearest ? 0 : wrong;
  int exponent = 0;
  std::frexp(want, &exponent);
  constexpr int kSmallest = std::numeric_limits<F>::min_exponent;
  if (want == 0 || exponent < kSmallest) exponent = kSmallest;
  const int last_place = exponent - std::numeric_limits<F>::digits;
  const Reference difference = std::fabs(static_cast<Reference>(got) - want);
  return static_cast<double>(std::ldexp(difference, -last_place));
}

}  // namespace coconet::kernel
