// The 16-bit floating types: storage with exact conversion to float and conversion from float and
// double that rounds once, to nearest even. Arithmetic on them is done in float (kernel/compute.h).
//
// NaNs stay NaNs, with their sign and upper payload bits. What makes a float of f16 or a 16-bit
// value of a float makes them quiet too, as the x86 F16C instructions do. Branch-free, so that
// loops over the conversions vectorise; the instructions themselves do not vectorise in GCC 12
// unless whole blocks are given (float16_block.h).
#pragma once

#include <cstdint>

#include "coconet/kernel/bits.h"

namespace coconet::kernel {

// IEEE binary16: 5 exponent bits, 10 mantissa bits; largest finite value 65504.
struct f16 {
  std::uint16_t bits;

  COCONET_HD static constexpr f16 from_float(float x);
  COCONET_HD static constexpr f16 from_double(double x);
  COCONET_HD constexpr float to_float() const;
};

// The upper half of a float: 8 exponent bits, 7 mantissa bits.
struct bf16 {
  std::uint16_t bits;

  // from_float(x).to_float(), without a step in 16 bits: a loop over it takes half the time.
  COCONET_HD static constexpr float nearest(float x);
  // The same of an x that is no NaN whose lower half has bits set: half as many instructions.
  COCONET_HD static constexpr float nearest_of_result(float x);
  // Exact for what nearest or to_float gave.
  COCONET_HD static constexpr bf16 upper_half(float x);
  COCONET_HD static constexpr bf16 from_float(float x);
  COCONET_HD static constexpr bf16 from_double(double x);
  COCONET_HD constexpr float to_float() const;
};

// The bits of a 16-bit format with `Exponent` exponent bits that is nearest to x, ties to even.
// Three candidates are computed and one chosen: for a normal result, the mantissa is rounded by an
// integer addition (a carry moves into the exponent, also into infinity); for a subnormal result by
// adding the power of two whose last place is that of the subnormals; and infinity or NaN.
template <int Exponent, class F>
COCONET_HD constexpr std::uint16_t round_to_16_bits(F x) {
  using Bits = typename Format<F>::Bits;
  constexpr int kMantissa = 15 - Exponent;
  constexpr int kWide = Format<F>::kMantissaBits;
  constexpr int kDropped = kWide - kMantissa;
  constexpr Bits kWideBias = Format<F>::kInfinity >> (kWide + 1);
  constexpr Bits kBias = (Bits{1} << (Exponent - 1)) - 1;
  constexpr Bits kRebias = (kWideBias - kBias) << kWide;
  constexpr Bits kSmallestNormal = (kWideBias - kBias + 1) << kWide;
  constexpr Bits kTooLarge = (kWideBias + kBias + 1) << kWide;
  // Its last place is the value of the smallest subnormal.
  constexpr Bits kMagic = kSmallestNormal + (Bits{kDropped} << kWide);
  constexpr std::uint16_t kInfinity16 = ((1u << Exponent) - 1u) << kMantissa;
  constexpr std::uint16_t kQuiet16 = 1u << (kMantissa - 1);

  const Bits magnitude = magnitude_bits(x);
  const Bits odd = (magnitude >> kDropped) & 1;
  const Bits normal = (magnitude - kRebias + ((Bits{1} << (kDropped - 1)) - 1) + odd) >> kDropped;
  const Bits subnormal = to_bits(from_bits(magnitude) + from_bits(kMagic)) - kMagic;
  const Bits payload = (magnitude >> kDropped) & ((Bits{1} << kMantissa) - 1);
  const Bits nan = Bits{kInfinity16} | Bits{kQuiet16} | payload;
  Bits result = select(mask_of<F>(magnitude < kSmallestNormal), subnormal, normal);
  result = select(mask_of<F>(magnitude >= kTooLarge), Bits{kInfinity16}, result);
  result = select(mask_of<F>(magnitude > Format<F>::kInfinity), nan, result);
  const Bits sign = (to_bits(x) & Format<F>::kSign) >> (8 * sizeof(F) - 16);
  return static_cast<std::uint16_t>(result | sign);
}

COCONET_HD constexpr f16 f16::from_float(float x) { return {round_to_16_bits<5>(x)}; }
COCONET_HD constexpr f16 f16::from_double(double x) { return {round_to_16_bits<5>(x)}; }

COCONET_HD constexpr float f16::to_float() const {
  const std::uint32_t sign = std::uint32_t{bits} & 0x8000u;
  const std::uint32_t magnitude = std::uint32_t{bits} & 0x7fffu;
  const std::uint32_t wide = magnitude << 13;
  const std::uint32_t normal = wide + ((127u - 15u) << 23);
  // One step of the smallest normal's exponent above, less that power of two: exact.
  const float subnormal = from_bits(wide + (113u << 23)) - from_bits(113u << 23);
  const std::uint32_t infinite = wide | 0x7f800000u;
  const std::uint32_t quiet = 0x00400000u & mask_of<float>(magnitude > 0x7c00u);
  std::uint32_t result = select(mask_of<float>(magnitude < 0x0400u), to_bits(subnormal), normal);
  result = select(mask_of<float>(magnitude >= 0x7c00u), infinite | quiet, result);
  return from_bits(result | (sign << 16));
}

// A float's mantissa is rounded in place: its subnormals are bf16's subnormals, and the carry out
// of the largest finite value is infinity.
COCONET_HD constexpr float bf16::nearest_of_result(float x) {
  const std::uint32_t wide = to_bits(x);
  return from_bits((wide + 0x7fffu + ((wide >> 16) & 1u)) & 0xffff0000u);
}

COCONET_HD constexpr float bf16::nearest(float x) {
  const float quiet = from_bits((to_bits(x) | 0x00400000u) & 0xffff0000u);
  return select(nan_mask(x), quiet, nearest_of_result(x));
}

COCONET_HD constexpr bf16 bf16::upper_half(float x) {
  return {static_cast<std::uint16_t>(to_bits(x) >> 16)};
}

COCONET_HD constexpr bf16 bf16::from_float(float x) { return upper_half(nearest(x)); }
COCONET_HD constexpr bf16 bf16::from_double(double x) { return {round_to_16_bits<8>(x)}; }

COCONET_HD constexpr float bf16::to_float() const { return from_bits(std::uint32_t{bits} << 16); }

}  // namespace coconet::kernel
