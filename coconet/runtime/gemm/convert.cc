#include "coconet/runtime/gemm/convert.h"

#include <cstring>
#include <stdexcept>

#include "coconet/kernel/float16.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

// clang vectorises loops by itself at -O2, GCC 12 not.
#if defined(__GNUC__) && !defined(__clang__)
#define COCONET_VECTORISE __attribute__((optimize("O3")))
#else
#define COCONET_VECTORISE
#endif

namespace coconet::gemm {

namespace {

using kernel::bf16;
using kernel::f16;
using kernel::MatmulType;

template <class Half>
COCONET_VECTORISE void widen_each(const Half* in, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = in[i].to_float();
}

template <class Half>
COCONET_VECTORISE void narrow_each(const float* in, std::int64_t count, Half* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = Half::from_float(in[i]);
}

#if defined(__x86_64__)
// The compiler does not find these instructions by itself. They give the bits of kernel/float16.h.
__attribute__((target("avx,f16c"))) std::int64_t widen_blocks(const f16* in, std::int64_t count,
                                                              float* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  return i;
}

__attribute__((target("avx,f16c"))) std::int64_t narrow_blocks(const float* in, std::int64_t count,
                                                               f16* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
  }
  return i;
}

// __builtin_cpu_supports knows no "f16c" before clang 18.
// Asked once: the instruction that tells takes microseconds in a virtual machine.
bool has_blocks() {
  static const bool has = [] {
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
  }();
  return has;
}
#else
std::int64_t widen_blocks(const f16*, std::int64_t, float*) { return 0; }
std::int64_t narrow_blocks(const float*, std::int64_t, f16*) { return 0; }
bool has_blocks() { return false; }
#endif

[[noreturn]] void refuse() { throw std::invalid_argument("a type other than f32, bf16, f16"); }

}  // namespace

std::int64_t size_of(MatmulType type) {
  switch (type) {
    case MatmulType::f32: return 4;
    case MatmulType::bf16:
    case MatmulType::f16: return 2;
    case MatmulType::f64: break;
  }
  refuse();
}

void widen(const void* in, MatmulType type, std::int64_t count, float* out) {
  switch (type) {
    case MatmulType::f32: std::memcpy(out, in, static_cast<std::size_t>(count) * 4); return;
    case MatmulType::bf16: return widen_each(static_cast<const bf16*>(in), count, out);
    case MatmulType::f16: {
      const auto* from = static_cast<const f16*>(in);
      const std::int64_t done = has_blocks() ? widen_blocks(from, count, out) : 0;
      return widen_each(from + done, count - done, out + done);
    }
    case MatmulType::f64: break;
  }
  refuse();
}

void narrow(const float* in, std::int64_t count, MatmulType type, void* out) {
  switch (type) {
    case MatmulType::f32: std::memcpy(out, in, static_cast<std::size_t>(count) * 4); return;
    case MatmulType::bf16: return narrow_each(in, count, static_cast<bf16*>(out));
    case MatmulType::f16: {
      auto* to = static_cast<f16*>(out);
      const std::int64_t done = has_blocks() ? narrow_blocks(in, count, to) : 0;
      return narrow_each(in + done, count - done, to + done);
    }
    case MatmulType::f64: break;
  }
  refuse();
}

}  // namespace coconet::gemm
