// Bits of floating values, and selection by masks.
//
// A mask has all bits set or none. Choosing by masks instead of branches keeps the functions that
// use it free of control flow, so that a compiler may vectorise loops over them although floating
// operations may trap.
#pragma once

#include <bit>
#include <cstdint>

// Marks a function that CUDA code may call too.
#ifdef __CUDACC__
#define COCONET_HD __host__ __device__
#else
#define COCONET_HD
#endif

// A function that must be inlined for the loops over it to vectorise.
#if defined(__GNUC__) || defined(__clang__)
#define COCONET_INLINE __attribute__((always_inline)) inline
#else
#define COCONET_INLINE inline
#endif

namespace coconet::kernel {

// Sizes are checked by std::bit_cast, which is constexpr (nvcc: --expt-relaxed-constexpr).
COCONET_HD COCONET_INLINE constexpr std::uint32_t to_bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
COCONET_HD COCONET_INLINE constexpr std::uint64_t to_bits(double x) {
  return std::bit_cast<std::uint64_t>(x);
}
COCONET_HD COCONET_INLINE constexpr float from_bits(std::uint32_t x) {
  return std::bit_cast<float>(x);
}
COCONET_HD COCONET_INLINE constexpr double from_bits(std::uint64_t x) {
  return std::bit_cast<double>(x);
}

// mask ? a : b
COCONET_HD COCONET_INLINE constexpr std::uint32_t select(std::uint32_t mask, std::uint32_t a,
                                                         std::uint32_t b) {
  return (mask & a) | (~mask & b);
}
COCONET_HD COCONET_INLINE constexpr std::uint64_t select(std::uint64_t mask, std::uint64_t a,
                                                         std::uint64_t b) {
  return (mask & a) | (~mask & b);
}
COCONET_HD COCONET_INLINE constexpr float select(std::uint32_t mask, float a, float b) {
  return from_bits(select(mask, to_bits(a), to_bits(b)));
}
COCONET_HD COCONET_INLINE constexpr double select(std::uint64_t mask, double a, double b) {
  return from_bits(select(mask, to_bits(a), to_bits(b)));
}

// What depends on the width of a floating type.
template <class F>
struct Format;

template <>
struct Format<float> {
  using Bits = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr Bits kSign = 0x80000000u;
  static constexpr Bits kInfinity = 0x7f800000u;
  static constexpr Bits kNan = 0x7fc00000u;
  static constexpr int kBias = 127;
};

template <>
struct Format<double> {
  using Bits = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr Bits kSign = 0x8000000000000000u;
  static constexpr Bits kInfinity = 0x7ff0000000000000u;
  static constexpr Bits kNan = 0x7ff8000000000000u;
  static constexpr int kBias = 1023;
};

template <class F>
COCONET_HD COCONET_INLINE constexpr typename Format<F>::Bits mask_of(bool condition) {
  return typename Format<F>::Bits{0} - static_cast<typename Format<F>::Bits>(condition);
}

template <class F>
COCONET_HD COCONET_INLINE constexpr typename Format<F>::Bits magnitude_bits(F x) {
  return to_bits(x) & ~Format<F>::kSign;
}

template <class F>
COCONET_HD COCONET_INLINE constexpr typename Format<F>::Bits nan_mask(F x) {
  return mask_of<F>(x != x);
}

// |x|, a NaN stays a NaN.
template <class F>
COCONET_HD COCONET_INLINE constexpr F magnitude(F x) {
  return from_bits(magnitude_bits(x));
}

// |x| with the sign of `sign`.
template <class F>
COCONET_HD COCONET_INLINE constexpr F with_sign(F x, F sign) {
  return from_bits(static_cast<typename Format<F>::Bits>(magnitude_bits(x) |
                                                         (to_bits(sign) & Format<F>::kSign)));
}

// x, or the one NaN that all functions here return if `source` is a NaN.
template <class F>
COCONET_HD COCONET_INLINE constexpr F or_nan(F x, F source) {
  return select(nan_mask(source), from_bits(Format<F>::kNan), x);
}

// min(|x|, limit) for limit > 0; a NaN gives limit.
template <class F>
COCONET_HD COCONET_INLINE constexpr F clamped_magnitude(F x, F limit) {
  const typename Format<F>::Bits bits = magnitude_bits(x);
  return from_bits(select(mask_of<F>(bits > to_bits(limit)), to_bits(limit), bits));
}

}  // namespace coconet::kernel
