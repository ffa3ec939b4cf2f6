// x^y for float and double with a floating or int32 exponent, and for integers.
//
// Special values as in C99 (Annex F): pow(x, 0) = 1 and pow(1, y) = 1 for every x and y, NaN too;
// pow(-1, +-inf) = 1; a negative finite base with an exponent that is not an integer gives NaN;
// zeros and infinities keep the sign of an odd power.
// Bounds in units in the last place of the exact result: float 0.51, double 0.90 (on samples).
#pragma once

#include <cstdint>
#include <type_traits>

#include "coconet/kernel/math.h"

namespace coconet::kernel {

// An unevaluated sum of two doubles, |low| <= ulp(high) / 2.
struct TwoDoubles {
  double high;
  double low;
};

// a + b exactly, for |a| >= |b| or a = 0.
COCONET_HD COCONET_INLINE TwoDoubles sum_of_ordered(double a, double b) {
  const double high = a + b;
  return {high, b - (high - a)};
}

// a * b, exactly but for about 2^-104 of it: without a fused operation, in halves of 26 and 27
// bits.
COCONET_HD COCONET_INLINE TwoDoubles product(double a, double b) {
  const double a_high = from_bits(to_bits(a) & MathConstants<double>::kUpperHalf);
  const double b_high = from_bits(to_bits(b) & MathConstants<double>::kUpperHalf);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double high = a * b;
  const double low = ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return {high, low};
}

COCONET_HD COCONET_INLINE TwoDoubles product(TwoDoubles a, TwoDoubles b) {
  const TwoDoubles p = product(a.high, b.high);
  return sum_of_ordered(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// For |a.high| >= |b.high| or a = 0.
COCONET_HD COCONET_INLINE TwoDoubles sum(TwoDoubles a, TwoDoubles b) {
  const TwoDoubles s = sum_of_ordered(a.high, b.high);
  return sum_of_ordered(s.high, s.low + (a.low + b.low));
}

// log(x) to about 2^-68 of it, for x > 0 finite, by the series of log((1+s)/(1-s)) of kernel/math.h
// with its first three terms, 2 s + 2/3 s^3 + 2/5 s^5, in two doubles.
COCONET_HD COCONET_INLINE TwoDoubles log_two_doubles(double x) {
  const Scaled<double> parts = scaled(x);
  const double f = parts.fraction;
  const TwoDoubles divisor = sum_of_ordered(2.0, f);
  const double s_high = f / divisor.high;
  const TwoDoubles back = product(s_high, divisor.high);
  const double s_low = (((f - back.high) - back.low) - s_high * divisor.low) / divisor.high;
  const TwoDoubles s = {s_high, s_low};
  const TwoDoubles z = product(s, s);
  constexpr TwoDoubles kTwoFifths = {0x1.999999999999ap-2, -0x1.999999999999ap-56};
  constexpr TwoDoubles kTwoThirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
  const TwoDoubles fifth = sum(kTwoFifths, {z.high * log_polynomial_rest(z.high), 0.0});
  const TwoDoubles third = sum(kTwoThirds, product(z, fifth));
  const TwoDoubles log_significand =
      sum({2.0 * s.high, 2.0 * s.low}, product(product(s, z), third));
  // Its product with an exponent is exact.
  const double k_high = parts.exponent * MathConstants<double>::kLn2High;
  const double k_low = parts.exponent * MathConstants<double>::kLn2Low;
  return sum(sum_of_ordered(k_high, k_low), log_significand);
}

struct IntegerKind {
  std::uint64_t integer;  // mask: finite and an integer, or infinite
  std::uint64_t odd;      // mask
};

COCONET_HD COCONET_INLINE IntegerKind integer_kind(double y) {
  constexpr double kInteger = 0x1p52;
  const double a = magnitude(y);
  const double half = 0.5 * a;
  const std::uint64_t integer =
      mask_of<double>(a >= kInteger) | mask_of<double>((a + kInteger) - kInteger == a);
  const std::uint64_t half_integer = mask_of<double>((half + kInteger) - kInteger == half) |
                                     mask_of<double>(half >= kInteger) | nan_mask(y);
  return {integer, integer & ~half_integer};
}

// Completes `power`, which is |x|^y where x and y are finite and x is not 0.
COCONET_HD COCONET_INLINE double pow_special(double power, double x, double y) {
  const IntegerKind kind = integer_kind(y);
  const std::uint64_t one = to_bits(1.0);
  const std::uint64_t infinity = Format<double>::kInfinity;
  const std::uint64_t x_bits = to_bits(x);
  const std::uint64_t x_magnitude = magnitude_bits(x);
  const std::uint64_t y_magnitude = magnitude_bits(y);
  const std::uint64_t negative = mask_of<double>((x_bits & Format<double>::kSign) != 0);
  const std::uint64_t is_one =
      mask_of<double>(y_magnitude == 0) | mask_of<double>(x_bits == one) |
      (mask_of<double>(x_magnitude == one) & mask_of<double>(y_magnitude == infinity));
  const std::uint64_t not_real = negative & ~kind.integer & mask_of<double>(x_magnitude != 0) &
                                 mask_of<double>(x_magnitude != infinity);
  double result = from_bits(to_bits(power) | (Format<double>::kSign & negative & kind.odd));
  result = or_nan(or_nan(result, x), y);
  result = select(not_real, from_bits(Format<double>::kNan), result);
  return select(is_one, 1.0, result);
}

// In double, rounded once at the end.
COCONET_HD COCONET_INLINE float pow_of_float(float x, double y) {
  const double wide = x;
  const double t = y * kernel::log(magnitude(wide));
  return static_cast<float>(pow_special(exp_difference(t, 0.0), wide, y));
}

COCONET_HD COCONET_INLINE float pow(float x, float y) { return pow_of_float(x, y); }
COCONET_HD COCONET_INLINE float pow(float x, std::int32_t y) { return pow_of_float(x, y); }

COCONET_HD COCONET_INLINE double pow(double x, double y) {
  const double a = magnitude(x);
  const TwoDoubles log_a = log_two_doubles(a);
  const double log_high = log_special(log_a.high, a);
  const TwoDoubles t = product(y, log_high);
  const double t_low = t.low + y * log_a.low;
  // Beyond this range the second part does not matter, and may not be finite.
  const double low = select(mask_of<double>(magnitude(t.high) < 800.0), t_low, 0.0);
  return pow_special(exp_difference(t.high, -low), x, y);
}
COCONET_HD COCONET_INLINE double pow(double x, std::int32_t y) {
  return kernel::pow(x, static_cast<double>(y));
}

// Wrapping. A negative exponent is the truncated 1 / x^-y: 1 for x = 1, +-1 for x = -1, 0 otherwise
// (0 for x = 0 too, as integer division by zero gives 0).
template <class I, class J,
          std::enable_if_t<std::is_integral_v<I> && std::is_integral_v<J>, int> = 0>
COCONET_HD constexpr I pow(I x, J y) {
  using U = std::make_unsigned_t<I>;
  if (y < 0) return x == 1 ? I{1} : x == -1 ? ((y & 1) != 0 ? I{-1} : I{1}) : I{0};
  U result = 1;
  U base = static_cast<U>(x);
  for (auto left = static_cast<std::make_unsigned_t<J>>(y); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<I>(result);
}

}  // namespace coconet::kernel
