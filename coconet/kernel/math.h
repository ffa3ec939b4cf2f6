// The scalar functions of programs, for float and double: one branch-free text of + - * / and
// operations on bits, so that interpreter, vector body, scalar tail and every backend give the same
// bits. To be compiled without contraction (-ffp-contract=off, nvcc --fmad=false) and without
// fast-math, with subnormals kept.
//
// Bounds, in units in the last place of the exact result. Those of float hold for all arguments:
// each was compared with a reference in double (sigmoid, silu, gelu and rsqrt for all 2^-33 <= |x|
// < 128, a sample beyond); those of double were measured on samples.
//
//            float  double
//   exp      0.85   0.95
//   log      0.90   0.90
//   tanh     1.40   1.60
//   erf      1.20   1.30
//   sqrt     0.50   0.50   IEEE exact
//   rsqrt    1.50   1.50   division of a rounded root
//   sigmoid  2.50   2.60
//   silu     3.30   3.40   for x > -87 and x > -708: below, the sigmoid is subnormal
//   gelu     8.00   12.0   for x > -12.5 and x > -37, likewise
//
// A NaN argument gives a NaN. The bounds of pow stand in kernel/pow.h.
#pragma once

#include "coconet/kernel/bits.h"
#include "coconet/kernel/polynomials.h"

namespace coconet::kernel {

template <class F>
struct MathConstants;

template <>
struct MathConstants<float> {
  // Adding it to |x| < 2^22 and subtracting it again rounds to an integer.
  static constexpr float kRound = 0x1.8p23f;
  static constexpr float kInverseLn2 = 0x1.715476p0f;
  // High + low = log(2); n * high is exact for every n that exp and log meet.
  static constexpr float kLn2High = 0x1.62e4p-1f;
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  // exp of these and beyond is infinity and zero.
  static constexpr float kExpOverflow = 89.0f;
  static constexpr float kExpUnderflow = 104.0f;
  static constexpr float kSqrtHalf = 0x1.6a09e6p-1f;
  static constexpr float kSubnormalScale = 0x1p25f;
  static constexpr int kSubnormalExponent = 25;
  // From these on the rounded result is 1.
  static constexpr float kTanhOne = 10.0f;
  static constexpr float kErfOne = 4.0f;
  // Beyond it the normal distribution's tail is below the smallest subnormal.
  static constexpr float kTailZero = 14.5f;
  static constexpr std::uint32_t kUpperHalf = 0xfffff000u;
};

template <>
struct MathConstants<double> {
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kInverseLn2 = 0x1.71547652b82fep0;
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kExpOverflow = 710.0;
  static constexpr double kExpUnderflow = 746.0;
  static constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  static constexpr double kSubnormalScale = 0x1p54;
  static constexpr int kSubnormalExponent = 54;
  static constexpr double kTanhOne = 20.0;
  static constexpr double kErfOne = 6.0;
  static constexpr double kTailZero = 38.7;
  static constexpr std::uint64_t kUpperHalf = 0xfffffffff8000000u;
};

// e^(high - low) for |low| well below 1; a NaN gives an unspecified value.
//
// e^x = 2^n e^r with n = round(x / log(2)), r = (high - n ln2_high) - (low + n ln2_low): the first
// difference is exact. 2^n is applied as two factors, so that results may be subnormal or infinite.
template <class F>
COCONET_HD COCONET_INLINE F exp_difference(F high, F low) {
  using C = MathConstants<F>;
  using Bits = typename Format<F>::Bits;
  const Bits sign = to_bits(high) & Format<F>::kSign;
  const F limit = select(mask_of<F>(sign != 0), C::kExpUnderflow, C::kExpOverflow);
  const F x = with_sign(clamped_magnitude(high, limit), high);
  const F shifted = (x - low) * C::kInverseLn2 + C::kRound;
  const F n = shifted - C::kRound;
  const F r_high = x - n * C::kLn2High;
  const F r_low = n * C::kLn2Low + low;
  const F r = r_high - r_low;
  // 1 + r_high + rest with what the inner sum loses added last.
  const F rest = r * r * exp_polynomial(r) - r_low;
  const F inner = r_high + rest;
  const F outer = F{1} + inner;
  const F y = outer + (((F{1} - outer) + inner) + ((r_high - inner) + rest));
  // n + 2 bias, positive, split into two biased exponents.
  const Bits exponent = to_bits(shifted) - to_bits(C::kRound) + Bits{2 * Format<F>::kBias};
  const Bits first = exponent >> 1;
  const Bits second = exponent - first;
  return y * from_bits(static_cast<Bits>(first << Format<F>::kMantissaBits)) *
         from_bits(static_cast<Bits>(second << Format<F>::kMantissaBits));
}

template <class F>
COCONET_HD COCONET_INLINE F exp(F x) {
  return or_nan(exp_difference(x, F{0}), x);
}

// x = 2^exponent * (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)), for x > 0 finite.
template <class F>
struct Scaled {
  F exponent;
  F fraction;
};

template <class F>
COCONET_HD COCONET_INLINE Scaled<F> scaled(F x) {
  using C = MathConstants<F>;
  using Bits = typename Format<F>::Bits;
  constexpr int kMantissa = Format<F>::kMantissaBits;
  constexpr Bits kMantissaMask = (Bits{1} << kMantissa) - 1;
  // 2^kMantissaBits + an integer below it has that integer as its mantissa.
  constexpr F kInteger = F{1} * static_cast<F>(Bits{1} << kMantissa);
  const Bits subnormal = mask_of<F>(magnitude_bits(x) <= kMantissaMask);
  const F normal = select(subnormal, x * C::kSubnormalScale, x);
  const Bits moved = to_bits(normal) + (to_bits(F{1}) - to_bits(C::kSqrtHalf));
  const F biased = from_bits(static_cast<Bits>(to_bits(kInteger) | (moved >> kMantissa)));
  const F bias = select(subnormal, static_cast<F>(Format<F>::kBias + C::kSubnormalExponent),
                        static_cast<F>(Format<F>::kBias));
  const F significand = from_bits((moved & kMantissaMask) + to_bits(C::kSqrtHalf));
  return {(biased - kInteger) - bias, significand - F{1}};
}

// `value`, which is the logarithm of x if x > 0 is finite, or the special value of log(x).
template <class F>
COCONET_HD COCONET_INLINE F log_special(F value, F x) {
  using Bits = typename Format<F>::Bits;
  const F infinity = from_bits(Format<F>::kInfinity);
  const Bits bits = to_bits(x);
  F result = select(mask_of<F>(bits == Format<F>::kInfinity), infinity, value);
  // Larger bits: NaNs, and everything with a sign.
  result = select(mask_of<F>(bits > Format<F>::kInfinity), from_bits(Format<F>::kNan), result);
  return select(mask_of<F>(magnitude_bits(x) == 0), -infinity, result);
}

// log(1+f) = f - f^2/2 + s (f^2/2 + (log((1+s)/(1-s)) - 2 s) / s) with s = f / (2+f).
// log(0) = -inf, log of a negative number is NaN.
template <class F>
COCONET_HD COCONET_INLINE F log(F x) {
  using C = MathConstants<F>;
  const Scaled<F> parts = scaled(x);
  const F f = parts.fraction;
  const F s = f / (F{2} + f);
  const F z = s * s;
  const F half_square = F{0.5} * f * f;
  const F value = s * (half_square + z * log_polynomial(z)) + parts.exponent * C::kLn2Low -
                  half_square + f + parts.exponent * C::kLn2High;
  return log_special(value, x);
}

// A polynomial below 0.625, 1 - 2 / (e^2|x| + 1) above.
template <class F>
COCONET_HD COCONET_INLINE F tanh(F x) {
  const F t = clamped_magnitude(x, MathConstants<F>::kTanhOne);
  const F z = t * t;
  const F small = t + t * (z * tanh_polynomial(z));
  const F large = F{1} - F{2} / (exp_difference(F{2} * t, F{0}) + F{1});
  const F result = select(mask_of<F>(t < F{0.625}), small, large);
  return or_nan(with_sign(result, x), x);
}

// A polynomial below 0.875, 1 - e^log_erfc(|x|) above.
template <class F>
COCONET_HD COCONET_INLINE F erf(F x) {
  const F t = clamped_magnitude(x, MathConstants<F>::kErfOne);
  const F small = t + t * erf_polynomial(t * t);
  const F large = F{1} - exp_difference(t * log_erfc_polynomial(t), t);
  const F result = select(mask_of<F>(t < F{0.875}), small, large);
  return or_nan(with_sign(result, x), x);
}

// Rounded once, as IEEE 754 says. GCC vectorises loops over it only with -fno-math-errno, which
// changes no result.
#ifdef __CUDACC__
COCONET_HD COCONET_INLINE float sqrt(float x) { return ::sqrtf(x); }
COCONET_HD COCONET_INLINE double sqrt(double x) { return ::sqrt(x); }
#else
COCONET_HD COCONET_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
COCONET_HD COCONET_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
#endif

// 1 / sqrt(x) in two operations, each rounded. rsqrt(+-0) = +-inf.
template <class F>
COCONET_HD COCONET_INLINE F rsqrt(F x) {
  return F{1} / kernel::sqrt(x);
}

// 1 / (1 + e^-x), as e^x / (1 + e^x) for negative x.
template <class F>
COCONET_HD COCONET_INLINE F sigmoid(F x) {
  const F e = exp_difference(-magnitude(x), F{0});
  const F numerator = select(mask_of<F>((to_bits(x) & Format<F>::kSign) != 0), e, F{1});
  return or_nan(numerator / (F{1} + e), x);
}

// x sigmoid(x); silu(-inf) is NaN, as that product is.
template <class F>
COCONET_HD COCONET_INLINE F silu(F x) {
  return x * kernel::sigmoid(x);
}

// The exact form x Phi(x) = x (1 + erf(x / sqrt(2))) / 2, without the cancellation of 1 + erf for
// negative x. gelu(-inf) is NaN, as the product is.
template <class F>
COCONET_HD COCONET_INLINE F gelu(F x) {
  const F t = clamped_magnitude(x, MathConstants<F>::kTailZero);
  const F u = F{1} / (F{1} + F{0.25} * t);
  // t^2/2 in two parts, the first exact.
  const F upper = from_bits(to_bits(t) & MathConstants<F>::kUpperHalf);
  const F e = exp_difference(F{-0.5} * upper * upper, F{0.5} * (t - upper) * (t + upper));
  const F tail = u * normal_tail_polynomial(u) * e;
  const F far = select(mask_of<F>((to_bits(x) & Format<F>::kSign) != 0), tail, F{1} - tail);
  const F near = F{0.5} + with_sign(t, x) * normal_polynomial(t * t);
  const F phi = select(mask_of<F>(t < F{1}), near, far);
  return or_nan(x * phi, x);
}

}  // namespace coconet::kernel
