// cast<To>(x): conversion between all element types, each rounding once.
//
// The argument is a compute value (float, double, int32_t, int64_t, bool) or a 16-bit one, which is
// widened first. The result is a compute value that To represents exactly, so rounding it to To
// does not change it: cast<f16>(x) is a float.
//   to a floating type   to nearest even; too large gives infinity (f64, integers to f16, bf16 or
//   f32:
//                        directly, never over a type between)
//   floating to integer  truncates; out of range gives the nearest bound; NaN gives 0
//   integer to integer   i64 to i32 wraps
//   to bool              x != 0 (NaN is true); from bool: 0 or 1
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "coconet/kernel/compute.h"

namespace coconet::kernel {

// The double that rounds to every type of at most 51 significant bits as x does: exact below 2^53,
// else x with the bits that do not fit merged into the last one.
COCONET_HD constexpr double to_double_sticky(std::int64_t x) {
  const std::uint64_t bits = static_cast<std::uint64_t>(x);
  const std::uint64_t size = x < 0 ? 0 - bits : bits;
  const std::uint64_t merged =
      (size & ~std::uint64_t{0x7ff}) | static_cast<std::uint64_t>((size & 0x7ff) != 0) << 11;
  const double wide = static_cast<double>(size < (std::uint64_t{1} << 53) ? size : merged);
  return x < 0 ? -wide : wide;
}

template <class I, class F>
COCONET_HD constexpr I truncate_saturated(F x) {
  // The bounds -2^(n-1) and 2^(n-1) are exact in F; the upper one is the first that does not fit.
  constexpr F kLow = static_cast<F>(std::numeric_limits<I>::min());
  constexpr F kHigh = -kLow;
  const bool fits = x >= kLow && x < kHigh;
  const I inside = static_cast<I>(fits ? x : F{0});
  return x >= kHigh ? std::numeric_limits<I>::max()
                    : (x < kLow ? std::numeric_limits<I>::min() : inside);
}

template <class To, class From>
COCONET_HD constexpr Compute<To> cast(From x) {
  if constexpr (kIs16Bit<From>) {
    return cast<To>(x.to_float());
  } else if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (kIs16Bit<To>) {
    if constexpr (std::is_same_v<From, float>) {
      return widen(To::from_float(x));
    } else if constexpr (std::is_same_v<From, std::int64_t>) {
      return widen(To::from_double(to_double_sticky(x)));
    } else {
      return widen(To::from_double(static_cast<double>(x)));
    }
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return truncate_saturated<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace coconet::kernel
