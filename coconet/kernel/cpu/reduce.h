// Reductions over any dims of a rank's dense piece.
#pragma once

#include <cstdint>

#include "coconet/kernel/cast.h"
#include "coconet/kernel/compute.h"
#include "coconet/kernel/cpu/space.h"
#include "coconet/kernel/cpu/threads.h"
#include "coconet/kernel/lanes.h"

namespace coconet::kernel {

// Marks the group that holds `dim`.
inline void mark_reduced(const Space& space, int dim, bool* reduced) {
  for (int g = 0; g < space.groups; ++g) {
    reduced[g] |= space.group[g].first <= dim && dim <= space.group[g].last;
  }
}

// out = the fold of `in` over the groups of dims that `reduced` marks (one flag per group of
// `space`, the piece of `in`), in 16 lanes by the row-major index of what is reduced. mean: divided
// by `divisor`. `out` keeps the order of the other groups. Requires: a group of `space` is reduced
// whole or kept whole.
template <class F, class T>
COCONET_ONCE Status reduce_groups(const Call& call, const Space& space, const bool* reduced,
                                  const T* in, T* out, bool mean, std::int64_t divisor) {
  std::int64_t stride[kMaxDims] = {};
  std::int64_t kept = 1, along = 1;
  for (int g = space.groups - 1, s = 0; g >= 0; --g, ++s) {
    stride[g] = 1;
    for (int inner = g + 1; inner < space.groups; ++inner) stride[g] *= space.group[inner].count;
    (reduced[g] ? along : kept) *= space.group[g].count;
  }
  if (space.empty_here) return kOk;
  // The offset of the index-th combination of the groups with this flag.
  const auto offset_of = [&](std::int64_t index, bool flag) {
    std::int64_t offset = 0;
    for (int g = space.groups - 1; g >= 0; --g) {
      if (reduced[g] != flag) continue;
      offset += index % space.group[g].count * stride[g];
      index /= space.group[g].count;
    }
    return offset;
  };
  const auto reduce = [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t k = begin; k < begin + count; ++k) {
      const T* from = in + (along > 0 ? offset_of(k, false) : 0);
      auto total = reduce_row<F>(along, [&](std::int64_t i) {
        return along > 0 ? widen(from[offset_of(i, true)]) : Compute<T>{};
      });
      if (mean) total = total / static_cast<Compute<T>>(divisor);
      out[k] = round_to<T>(total);
    }
    return kOk;
  };
  return in_cuts(call, kept, 1, kept * along, reduce);
}

// out[0] = the fold of all `count` elements held, in blocks of their index. mean: as above.
template <class F, class T>
COCONET_ONCE void reduce_held(std::int64_t count, const T* in, T* out, bool mean,
                              std::int64_t divisor) {
  auto total = reduce_tensor<F>(count, [&](std::int64_t i) { return widen(in[i]); });
  if (mean) total = total / static_cast<Compute<T>>(divisor);
  out[0] = round_to<T>(total);
}

}  // namespace coconet::kernel
