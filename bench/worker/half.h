// f16 and bf16 as peers have them: no library here sums f16, so they widen it themselves.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace coconet::bench {

using Half = std::uint16_t;

// Of a number of [0.5, 2) that is a multiple of 2^-10, which f16 holds exactly.
inline Half half_of(float value) {
  const bool low = value < 1;
  const float fraction = low ? 2 * value - 1 : value - 1;
  return static_cast<Half>((low ? 14 : 15) << 10 | static_cast<int>(fraction * 1024));
}

inline float widened(Half half) {
  const std::uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  const std::uint32_t bits = (half & 0x8000u) << 16 | (exponent + 112) << 23 | mantissa << 13;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;  // of normal numbers, which is what inputs are
}

// out[i] = from[i], or out[i] += from[i].
inline void widen(const Half* from, float* out, std::int64_t count, bool add) {
  std::int64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
  for (; i + 8 <= count; i += 8) {
    __m256 value = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    if (add) value = _mm256_add_ps(value, _mm256_loadu_ps(out + i));
    _mm256_storeu_ps(out + i, value);
  }
#endif
  for (; i < count; ++i) out[i] = (add ? out[i] : 0) + widened(from[i]);
}

// bf16: the upper half of a float. NaNs do not occur.
struct Bf16 {
  std::uint16_t bits;
};

inline float widened(Bf16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

// Rounds to nearest even.
inline Bf16 bf16_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

}  // namespace coconet::bench
