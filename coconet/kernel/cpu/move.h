// Movement of data between a rank's pieces of two tensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "coconet/kernel/cpu/space.h"
#include "coconet/kernel/cpu/threads.h"

namespace coconet::kernel {

// The same elements in the same order.
template <class T>
COCONET_ONCE Status move_held(const Call& call, const Space& out, const T* from, T* to) {
  const std::int64_t all = out.count();
  return in_cuts(call, all, kPartElements, all, [&](std::int64_t begin, std::int64_t count) {
    if (count > 0)
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(count) * sizeof(T));
    return kOk;
  });
}

// The elements of `space` between two buffers that are laid out alike; where they are rings,
// from_at and to_at are added to their indexes (ChunkTurn).
template <class T>
COCONET_ONCE void copy_space(const Space& space, const Space& layout, const T* from,
                             std::int64_t from_at, T* to, std::int64_t to_at) {
  for_each_run(space, 0, [&](const Run& run) {
    const std::int64_t at = index_in(layout, run.coordinates, space.dims);
    std::memcpy(to + (at + to_at), from + (at + from_at),
                static_cast<std::size_t>(run.count) * sizeof(T));
  });
}

// Elements [in_start, in_start + length) of dim `dim` of `in` to out_start .. of `out`. Requires:
// no slice cuts the dim; the others are cut alike.
template <class T>
COCONET_ONCE Status move_along(const Call& call, int dim, std::int64_t length, const Space& in,
                               std::int64_t in_start, const T* from, const Space& out,
                               std::int64_t out_start, T* to) {
  std::int64_t outer = 1, inner = 1;
  for (int g = 0; g < out.groups; ++g) {
    if (out.group[g].last < dim) outer *= out.group[g].count;
    if (out.group[g].first > dim) inner *= out.group[g].count;
  }
  const std::int64_t row = length * inner;  // what follows each other
  if (out.empty_here || row == 0) return kOk;
  const auto move = [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t at = begin, step; at < begin + count; at += step) {
      const std::int64_t i = at / row, done = at % row;
      step = smaller(row - done, begin + count - at);
      std::memcpy(to + (i * out.sizes[dim] + out_start) * inner + done,
                  from + (i * in.sizes[dim] + in_start) * inner + done,
                  static_cast<std::size_t>(step) * sizeof(T));
    }
    return kOk;
  };
  return in_cuts(call, outer * row, kPartElements, outer * row, move);
}

// Dim d of `out` is dim order[d] of `in`. Requires: dims that a slice takes as one index stand
// together and in order in both.
template <class T>
COCONET_ONCE Status move_transposed(const Call& call, std::initializer_list<int> order,
                                    const Space& in, const T* from, const Space& out, T* to) {
  const std::int64_t count = out.count();
  if (count == 0) return kOk;
  std::int64_t stride[kMaxDims] = {};  // in `in`, of each group of `out`
  for (int g = 0; g < out.groups; ++g) {
    const int dim = order.begin()[out.group[g].first];
    stride[g] = 1;
    for (int h = in.groups - 1; in.group[h].first > dim; --h) stride[g] *= in.group[h].count;
  }
  const int last = out.groups - 1;
  const std::int64_t length = out.group[last].count;
  const auto move = [&](std::int64_t begin, std::int64_t rows) {
    std::int64_t at[kMaxDims] = {};
    for (std::int64_t g = last - 1, rest = begin; g >= 0; --g) {
      at[g] = rest % out.group[g].count;
      rest /= out.group[g].count;
    }
    for (std::int64_t i = begin * length; i < (begin + rows) * length; i += length) {
      const T* row = from;
      for (int g = 0; g < last; ++g) row += at[g] * stride[g];
      for (std::int64_t j = 0; j < length; ++j) to[i + j] = row[j * stride[last]];
      for (int g = last - 1; g >= 0 && ++at[g] == out.group[g].count; --g) at[g] = 0;
    }
    return kOk;
  };
  return in_cuts(call, count / length, 1, count, move);
}

}  // namespace coconet::kernel
