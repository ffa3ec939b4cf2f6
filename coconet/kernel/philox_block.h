// Philox4x32-10 of many counters at once: the words of dropout.h's philox_words, with the x86
// instruction that multiplies 32 bits to 64 where the compiler may use it. GCC 12 does not find it:
// it multiplies 64 bits by 64, in three steps.
#pragma once

#include <cstdint>

#include "coconet/kernel/bits.h"

#if defined(__AVX2__) && defined(__GNUC__) && !defined(__CUDACC__)
#define COCONET_PHILOX_BLOCKS
#endif

namespace coconet::kernel {

#if defined(COCONET_PHILOX_BLOCKS)
#if defined(__AVX512F__)
inline constexpr int kPhiloxLanes = 8;
#else
inline constexpr int kPhiloxLanes = 4;
#endif
// A lane holds one word of a counter in its lower half; the upper half is anything.
using PhiloxLanes = std::uint64_t __attribute__((vector_size(8 * kPhiloxLanes)));

// Lower half times lower half.
COCONET_INLINE PhiloxLanes product_of_halves(PhiloxLanes a, PhiloxLanes b) {
#if defined(__clang__)
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#elif defined(__AVX512F__)
  using Words = int __attribute__((vector_size(64)));
  using Result = long long __attribute__((vector_size(64)));
  return (PhiloxLanes)__builtin_ia32_pmuludq512_mask((Words)a, (Words)b, Result{}, 0xff);
#else
  using Words = int __attribute__((vector_size(32)));
  return (PhiloxLanes)__builtin_ia32_pmuludq256((Words)a, (Words)b);
#endif
}

// The four words of counters `first`, first + 1, ... (their words 0 and 1; 2 and 3 are `high`'s),
// of as many whole blocks of kPhiloxLanes as `count` has: how many counters those are.
inline std::int64_t philox_blocks(std::uint64_t first, std::uint64_t high, std::uint64_t key,
                                  std::int64_t count, std::uint32_t* words) {
  PhiloxLanes group;
  for (int lane = 0; lane < kPhiloxLanes; ++lane) group[lane] = first + static_cast<unsigned>(lane);
  const PhiloxLanes m0 = PhiloxLanes{} + 0xd2511f53u, m1 = PhiloxLanes{} + 0xcd9e8d57u;
  std::int64_t done = 0;
  for (; done + kPhiloxLanes <= count; done += kPhiloxLanes, group += kPhiloxLanes) {
    PhiloxLanes c0 = group, c1 = group >> 32, c2 = PhiloxLanes{} + high, c3 = c2 >> 32;
    std::uint32_t k0 = static_cast<std::uint32_t>(key);
    std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
      const PhiloxLanes p0 = product_of_halves(c0, m0), p1 = product_of_halves(c2, m1);
      c0 = (p1 >> 32) ^ c1 ^ k0;
      c2 = (p0 >> 32) ^ c3 ^ k1;
      c1 = p1;
      c3 = p0;
    }
    const PhiloxLanes even = (c0 & 0xffffffffu) | (c1 << 32);
    const PhiloxLanes odd = (c2 & 0xffffffffu) | (c3 << 32);
#if defined(__AVX512F__)
    const PhiloxLanes left = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
    const PhiloxLanes right = __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    const PhiloxLanes left = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
    const PhiloxLanes right = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
#endif
    __builtin_memcpy(words + 4 * done, &left, sizeof left);
    __builtin_memcpy(words + 4 * done + 2 * kPhiloxLanes, &right, sizeof right);
  }
  return done;
}
#endif

}  // namespace coconet::kernel
