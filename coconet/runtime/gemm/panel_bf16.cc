#include "coconet/runtime/gemm/panel_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#define COCONET_AMX __attribute__((target("amx-tile,amx-bf16")))
#define COCONET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

namespace coconet::gemm {

namespace {

constexpr std::int64_t kTile = kTileRows * kTileDepth;  // elements

// Linux gives the matrix unit's registers to a process that asks for them.
bool may_use_tiles() {
  constexpr int kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

bool has_amx_bf16() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
  return (d & kBf16) != 0 && (d & kTiles) != 0 && may_use_tiles();
}

COCONET_AVX512 inline __m512i row(const std::uint16_t* from, std::int64_t columns) {
  const auto mask = static_cast<__mmask32>(columns >= 32 ? ~0u : (1u << columns) - 1);
  return _mm512_maskz_loadu_epi16(mask, from);
}

// A bit for each that is subnormal: of magnitude 1 to 0x7f.
COCONET_AVX512 inline std::uint32_t subnormals(__m512i values) {
  const __m512i magnitude = _mm512_and_si512(values, _mm512_set1_epi16(0x7fff));
  const __m512i less = _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1));
  return _mm512_cmplt_epu16_mask(less, _mm512_set1_epi16(0x7f));
}

__attribute__((target("prfchw"))) inline void prefetch_to_write(const char* line) {
  __builtin_prefetch(line, 1);
}

}  // namespace

ProcessorHas processor_has() {
  ProcessorHas out;
  out.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  out.amx_bf16 = out.avx512 && has_amx_bf16();
  return out;
}

void expect_writes(const void* out, std::int64_t rows, std::int64_t stride) {
  const char* line = static_cast<const char*>(out);
  for (std::int64_t r = 0; r < rows; ++r, line += stride) prefetch_to_write(line);
}

COCONET_AVX512 std::uint32_t pack_bf16(const std::uint16_t* from, std::int64_t stride,
                                       std::int64_t k, std::int64_t columns, std::uint16_t* panel) {
  std::uint32_t subnormal = 0;
  alignas(64) std::uint16_t order[64];  // columns 0..15 of both rows in turns, then 16..31
  for (int i = 0; i < 64; ++i) order[i] = static_cast<std::uint16_t>(i / 2 + (i % 2) * 32);
  const __m512i left = _mm512_load_si512(order), right = _mm512_load_si512(order + 32);
  const std::int64_t end = (k + kTileDepth - 1) / kTileDepth * kTileDepth;
  for (std::int64_t i = 0; i < end; i += 2, from += 2 * stride) {
    const __m512i even = i < k ? row(from, columns) : _mm512_setzero_si512();
    const __m512i odd = i + 1 < k ? row(from + stride, columns) : _mm512_setzero_si512();
    subnormal |= subnormals(even) | subnormals(odd);
    std::uint16_t* const to = panel + i / kTileDepth * 2 * kTile + i % kTileDepth / 2 * 32;
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(even, left, odd));
    _mm512_storeu_si512(to + kTile, _mm512_permutex2var_epi16(even, right, odd));
  }
  return subnormal;
}

COCONET_AVX512 bool holds_subnormal(const std::uint16_t* values, std::int64_t count) {
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; i += 32) found |= subnormals(row(values + i, count - i));
  return found != 0;
}

void pack_rows(const std::uint16_t* from, std::int64_t stride, std::int64_t rows, std::int64_t k,
               std::uint16_t* packed) {
  for (std::int64_t i = 0; i < k; i += kTileDepth, packed += kTile) {
    const std::int64_t columns = k - i < kTileDepth ? k - i : kTileDepth;
    if (rows < kTileRows || columns < kTileDepth) std::memset(packed, 0, kTile * 2);
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(packed + r * kTileDepth, from + r * stride + i,
                  static_cast<std::size_t>(columns * 2));
    }
  }
}

namespace {

COCONET_AMX void set_up_tiles() {
  struct Configuration {
    std::uint8_t palette = 1, start = 0, zeros[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  alignas(64) static constexpr Configuration kConfiguration;
  _tile_loadconfig(&kConfiguration);
}

COCONET_AMX void release_tiles() { _tile_release(); }

}  // namespace

Tiles::Tiles() { set_up_tiles(); }
Tiles::~Tiles() { release_tiles(); }

// Sums in tiles 0 to 3, the left operand in 4 and 5, the panel in 6 and 7.
COCONET_AMX void multiply_bf16(const std::uint16_t* above, const std::uint16_t* below,
                               const std::uint16_t* panel, std::int64_t k, float* out,
                               std::int64_t out_stride, const std::uint16_t* later) {
  const std::int64_t steps = (k + kTileDepth - 1) / kTileDepth;
  const std::int64_t bytes = out_stride * 4;
  _tile_zero(0);
  _tile_zero(1);
  if (below == nullptr) {
    for (std::int64_t i = 0; i < steps; ++i, above += kTile, panel += 2 * kTile) {
      _tile_loadd(4, above, 64);
      _tile_loadd(6, panel, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, panel + kTile, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    _tile_stored(0, out, bytes);
    _tile_stored(1, out + 16, bytes);
    return;
  }
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t i = 0; i < steps; ++i, above += kTile, below += kTile, panel += 2 * kTile) {
    for (int line = 0; line < 8; ++line) __builtin_prefetch(later + line * 32, 0, 2);
    later += 2 * kTile;
    _tile_loadd(4, above, 64);
    _tile_loadd(6, panel, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, panel + kTile, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, below, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, out, bytes);
  _tile_stored(1, out + 16, bytes);
  _tile_stored(2, out + 16 * out_stride, bytes);
  _tile_stored(3, out + 16 * out_stride + 16, bytes);
}

}  // namespace coconet::gemm
#endif
