// How an index is cut among ranks: the one rule of slices that compiler and kernels share.
#pragma once

#include <cstdint>

// Compiled once a module and not once a launch: what a kernel does a few times a tile. Inlined, it
// takes the compiler ten times as long as the loops over elements.
#define COCONET_ONCE [[gnu::noinline, gnu::visibility("hidden")]]

namespace coconet::kernel {

inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return b < a ? b : a; }
inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a < b ? b : a; }

struct Cut {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// Part `part` of `total` rows cut into `parts`: ceil(total/parts) rows each, the last ones shorter
// or empty. With grain > 1 the cuts fall on its multiples.
inline Cut cut(std::int64_t total, int parts, int part, std::int64_t grain = 1) {
  const std::int64_t grains = total / grain + (total % grain != 0);
  const std::int64_t each = (grains / parts + (grains % parts != 0)) * grain;
  const std::int64_t begin = smaller(each * part, total);
  return {begin, smaller(each, total - begin)};
}

}  // namespace coconet::kernel
