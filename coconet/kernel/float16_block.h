// Conversion of runs of 16-bit values: the same bits as the conversions of one value, with the x86
// F16C instructions where the compiler may use them. A module that works through tiles in float
// converts with these; the conversions of one value are for expressions.
#pragma once

#include <cstdint>

#include "coconet/kernel/compute.h"

#if defined(__F16C__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

namespace coconet::kernel {

// out[i] = widen(in[i]) for i in [0, count).
template <class T>
inline void widen_each(const T* in, Compute<T>* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = widen(in[i]);
}

// out[i] = round_to<T>(in[i]) for i in [0, count).
template <class T>
inline void round_each(const Compute<T>* in, T* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = round_to<T>(in[i]);
}

#if defined(__F16C__) && !defined(__CUDACC__)
template <>
inline void widen_each<f16>(const f16* in, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  for (; i < count; ++i) out[i] = widen(in[i]);
}

template <>
inline void round_each<f16>(const float* in, f16* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half =
        _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
  }
  for (; i < count; ++i) out[i] = round_to<f16>(in[i]);
}
#endif

}  // namespace coconet::kernel
