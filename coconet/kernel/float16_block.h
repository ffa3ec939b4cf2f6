// Conversion of runs of 16-bit values: the same bits as the conversions of one value, with the x86
// F16C instructions where the compiler may use them. A module that works through tiles in float
// converts with these; the conversions of one value are for expressions.
#pragma once

#include <cstdint>

#include "coconet/kernel/compute.h"

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

// x[i] = rounded<T>(x[i]) for i in [0, count).
template <class T>
inline void round_in_place(Compute<T>* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = rounded<T>(x[i]);
}

#if defined(__F16C__) && !defined(__CUDACC__)
// The compilers' own names of the instructions: their headers would take longer to read than a
// module to compile.
using Halves = short __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(32)));

inline Floats widen_8(const f16* in) {
  Halves halves;
  __builtin_memcpy(&halves, in, sizeof halves);
  return __builtin_ia32_vcvtph2ps256(halves);
}

inline Halves round_8(const float* in) {
  Floats floats;
  __builtin_memcpy(&floats, in, sizeof floats);
  return __builtin_ia32_vcvtps2ph256(floats, 0);  // to nearest even
}

template <>
inline void widen_each<f16>(const f16* in, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const Floats wide = widen_8(in + i);
    __builtin_memcpy(out + i, &wide, sizeof wide);
  }
  for (; i < count; ++i) out[i] = widen(in[i]);
}

template <>
inline void round_each<f16>(const float* in, f16* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const Halves halves = round_8(in + i);
    __builtin_memcpy(out + i, &halves, sizeof halves);
  }
  for (; i < count; ++i) out[i] = round_to<f16>(in[i]);
}

template <>
inline void round_in_place<f16>(float* x, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const Floats wide = __builtin_ia32_vcvtph2ps256(round_8(x + i));
    __builtin_memcpy(x + i, &wide, sizeof wide);
  }
  for (; i < count; ++i) x[i] = rounded<f16>(x[i]);
}
#endif

}  // namespace coconet::kernel
