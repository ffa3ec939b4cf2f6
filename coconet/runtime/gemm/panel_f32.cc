#include "coconet/runtime/gemm/panel_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#define COCONET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma,prfchw")))

namespace coconet::gemm {

namespace {

COCONET_AVX512 inline __mmask16 first(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// All sums in registers: 28 of the 32, two for a row of the panel.
template <int Rows, bool Turned, bool Keep>
COCONET_AVX512 void block(const RowsByPanel& work, float* kept) {
  constexpr std::int64_t kAhead = 12;  // rows of the panel, to the first cache
  const std::int64_t row = Turned ? 1 : work.a_stride, step = Turned ? Rows : 1;
  const float* a = work.a;
  const float* panel = work.panel;
  // Another core may have read what is overwritten at the end.
#pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r) {
    __builtin_prefetch(work.out + r * work.out_stride, 1);
    __builtin_prefetch(work.out + r * work.out_stride + 16, 1);
  }
  const __mmask16 left = first(work.columns), right = first(work.columns - 16);
  __m512 sum[Rows][2];
  if (work.add) {
#pragma GCC unroll 14
    for (int r = 0; r < Rows; ++r) {
      sum[r][0] = _mm512_maskz_loadu_ps(left, work.out + r * work.out_stride);
      sum[r][1] = _mm512_maskz_loadu_ps(right, work.out + r * work.out_stride + 16);
    }
  } else {
#pragma GCC unroll 14
    for (int r = 0; r < Rows; ++r) sum[r][0] = sum[r][1] = _mm512_setzero_ps();
  }
  const float* later = work.later;
  for (std::int64_t i = 0; i < work.k; ++i, a += step, panel += work.panel_stride) {
    __builtin_prefetch(later, 0, 2);
    later += 16;
    const __m512 b0 = _mm512_loadu_ps(panel), b1 = _mm512_loadu_ps(panel + 16);
    __builtin_prefetch(panel + kAhead * work.panel_stride);
    __builtin_prefetch(panel + kAhead * work.panel_stride + 16);
    if constexpr (Keep) {
      _mm512_storeu_ps(kept, b0);
      _mm512_storeu_ps(kept + 16, b1);
      kept += kPanel;
    }
#pragma GCC unroll 14
    for (int r = 0; r < Rows; ++r) {
      const __m512 x = _mm512_set1_ps(a[r * row]);
      sum[r][0] = _mm512_fmadd_ps(x, b0, sum[r][0]);
      sum[r][1] = _mm512_fmadd_ps(x, b1, sum[r][1]);
    }
  }
  float* out = work.out;
#pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r, out += work.out_stride) {
    _mm512_mask_storeu_ps(out, left, sum[r][0]);
    _mm512_mask_storeu_ps(out + 16, right, sum[r][1]);
  }
}

struct Blocks {
  decltype(&block<1, true, false>) of[kF32Rows];  // by rows, from one
};

template <bool Turned, bool Keep, int... Rows>
constexpr Blocks blocks(std::integer_sequence<int, Rows...>) {
  return {{&block<Rows + 1, Turned, Keep>...}};
}

// Rows and columns of 16 x 16 numbers change places.
COCONET_AVX512 void turn(__m512 (&x)[16]) {
  __m512 y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28,
                                   13, 29);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27,
                                       14, 30, 15, 31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 4) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      x[i + 2 * j] = __builtin_shufflevector(y[i + j], y[i + j + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8,
                                             9, 24, 25, 12, 13, 28, 29);
      x[i + 2 * j + 1] = __builtin_shufflevector(y[i + j], y[i + j + 2], 2, 3, 18, 19, 6, 7, 22, 23,
                                                 10, 11, 26, 27, 14, 15, 30, 31);
    }
  }
  // Now quarter q of x[4 g + j] is column 4 q + j of rows 4 g to 4 g + 3.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 even0 = __builtin_shufflevector(x[j], x[4 + j], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17,
                                                 18, 19, 24, 25, 26, 27);
    const __m512 even1 = __builtin_shufflevector(x[8 + j], x[12 + j], 0, 1, 2, 3, 8, 9, 10, 11, 16,
                                                 17, 18, 19, 24, 25, 26, 27);
    const __m512 odd0 = __builtin_shufflevector(x[j], x[4 + j], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21,
                                                22, 23, 28, 29, 30, 31);
    const __m512 odd1 = __builtin_shufflevector(x[8 + j], x[12 + j], 4, 5, 6, 7, 12, 13, 14, 15, 20,
                                                21, 22, 23, 28, 29, 30, 31);
    y[j] = __builtin_shufflevector(even0, even1, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25,
                                   26, 27);
    y[8 + j] = __builtin_shufflevector(even0, even1, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28,
                                       29, 30, 31);
    y[4 + j] = __builtin_shufflevector(odd0, odd1, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25,
                                       26, 27);
    y[12 + j] = __builtin_shufflevector(odd0, odd1, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28,
                                        29, 30, 31);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

}  // namespace

COCONET_AVX512 void turn_rows(const float* from, std::int64_t stride, std::int64_t rows,
                              std::int64_t k, float* turned) {
  const __mmask16 wanted = first(rows);
  for (std::int64_t i = 0; i < k; i += 16) {
    const std::int64_t columns = k - i < 16 ? k - i : 16;
    const __mmask16 here = first(columns);
    __m512 x[16];
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) {
      x[r] = r < rows ? _mm512_maskz_loadu_ps(here, from + r * stride + i) : _mm512_setzero_ps();
    }
    turn(x);
#pragma GCC unroll 16
    for (int c = 0; c < 16; ++c) {
      if (c < columns) _mm512_mask_storeu_ps(turned + (i + c) * rows, wanted, x[c]);
    }
  }
}

void multiply_f32(const RowsByPanel& work, std::int64_t rows, float* kept) {
  constexpr auto kRows = std::make_integer_sequence<int, kF32Rows>();
  static constexpr Blocks kBlocks[2][2] = {
      {blocks<false, false>(kRows), blocks<false, true>(kRows)},
      {blocks<true, false>(kRows), blocks<true, true>(kRows)}};
  kBlocks[work.a_stride == 0][kept != nullptr].of[rows - 1](work, kept);
}

namespace {

COCONET_AVX512 inline void narrow_16(const float* in, __mmask16 here, std::uint16_t* out) {
  constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of the forms without a mask
  const __m512i half = _mm512_set1_epi32(0x7fff), one = _mm512_set1_epi32(1);
  const __m512 x = _mm512_load_ps(in);
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i top = _mm512_maskz_srli_epi32(kAll, bits, 16);
  const __m512i carry = _mm512_add_epi32(half, _mm512_and_si512(top, one));
  const __m512i rounded = _mm512_maskz_srli_epi32(kAll, _mm512_add_epi32(bits, carry), 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i result = _mm512_mask_or_epi32(rounded, nan, top, _mm512_set1_epi32(0x40));
  _mm512_mask_cvtepi32_storeu_epi16(out, here, result);
}

}  // namespace

COCONET_AVX512 void narrow_bf16(const float* tile, std::int64_t rows, std::int64_t columns,
                                std::uint16_t* out, std::int64_t out_stride) {
  const __mmask16 left = first(columns), right = first(columns - 16);
  for (std::int64_t r = 0; r < rows; ++r, tile += kPanel, out += out_stride) {
    narrow_16(tile, left, out);
    narrow_16(tile + 16, right, out + 16);
  }
}

}  // namespace coconet::gemm
#endif
