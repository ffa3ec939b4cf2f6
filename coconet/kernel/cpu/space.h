// Where the elements that a kernel visits stand: in the global tensor, and in each buffer it reads
// or writes.
//
// A *space* is a global shape with some runs of dims cut to an interval: the piece of a type that
// one rank works on. A kernel visits it in *runs*: stretches of the global flat index that are
// contiguous, do not leave the piece, and do not cross a multiple of `width` (a row, a block). A
// buffer is laid out by a space of its own (its piece), whose dims are right-aligned to the
// kernel's; a dim of 1 broadcasts. Along a run a buffer's index moves by 0 or 1.
#pragma once

#include <cstdint>

#include "coconet/kernel/cut.h"

namespace coconet::kernel {

inline constexpr int kMaxDims = 8;

struct Space {
  // Dims first..last taken as one row-major index of `total`, cut to [begin, begin + count).
  struct Group {
    int first = 0, last = 0;
    std::int64_t total = 1, begin = 0, count = 1;
  };
  int dims = 0;
  std::int64_t sizes[kMaxDims] = {};
  int groups = 0;
  Group group[kMaxDims] = {};
  bool empty_here = false;  // a rooted tensor away from its root

  std::int64_t count() const {
    std::int64_t product = empty_here ? 0 : 1;
    for (int g = 0; g < groups; ++g) product *= group[g].count;
    return product;
  }
};

// The whole of a tensor.
inline Space whole_space(const std::int64_t* sizes, int dims) {
  Space space;
  space.dims = space.groups = dims;
  for (int d = 0; d < dims; ++d) {
    space.sizes[d] = sizes[d];
    space.group[d] = {d, d, sizes[d], 0, sizes[d]};
  }
  return space;
}

// Cuts dims first..last, as one index, into `parts` and keeps `part`. Requires: the range is a
// group already (its interval is cut again), or all its dims are whole.
inline void cut_space(Space& space, int first, int last, std::int64_t grain, int parts, int part) {
  int from = 0;
  while (space.group[from].last < first) ++from;
  int to = from;
  while (space.group[to].last < last) ++to;
  Space::Group merged = space.group[from];
  for (int g = from + 1; g <= to; ++g) {
    merged.last = space.group[g].last;
    merged.total *= space.group[g].total;
    merged.count = merged.total;
  }
  if (from != to) merged.begin = 0;
  const Cut piece = cut(merged.count, parts, part, grain);
  merged.begin += piece.begin;
  merged.count = piece.count;
  space.group[from] = merged;
  for (int g = to + 1; g < space.groups; ++g) space.group[from + g - to] = space.group[g];
  space.groups -= to - from;
}

// Restricts the group of dims first..last to rows [begin, begin + count) of its interval.
inline Space rows_of(Space space, int first, std::int64_t begin, std::int64_t count) {
  for (int g = 0; g < space.groups; ++g) {
    if (space.group[g].first != first) continue;
    begin = smaller(begin, space.group[g].count);
    space.group[g].begin += begin;
    space.group[g].count = larger(0, smaller(count, space.group[g].count - begin));
  }
  return space;
}

// The coordinates of a global flat index.
inline void coordinates_of(const Space& space, std::int64_t global, std::int64_t* coordinates) {
  for (int d = space.dims - 1; d >= 0; --d) {
    coordinates[d] = global % space.sizes[d];
    global /= space.sizes[d];
  }
}

// Where the element of the kernel's space at `coordinates` (of `dims` dims) stands in a buffer laid
// out by `buffer`.
inline std::int64_t index_in(const Space& buffer, const std::int64_t* coordinates, int dims) {
  const int shift = dims - buffer.dims;
  std::int64_t index = 0;
  for (int g = 0; g < buffer.groups; ++g) {
    std::int64_t merged = 0;
    for (int d = buffer.group[g].first; d <= buffer.group[g].last; ++d) {
      const std::int64_t at = buffer.sizes[d] == 1 ? 0 : coordinates[d + shift];
      merged = merged * buffer.sizes[d] + at;
    }
    index = index * buffer.group[g].count + (merged - buffer.group[g].begin);
  }
  return index;
}

struct Run {
  std::int64_t global = 0;  // flat index of the first element
  std::int64_t count = 0;
  std::int64_t coordinates[kMaxDims] = {};  // of the first element
};

// Calls visit(run) for every run of the space in the order of the global flat index. width <= 0:
// runs end only where the piece does. Otherwise a run does not cross a multiple of `width`, and is
// as long as that allows.
template <class Visit>
void for_each_run(const Space& space, std::int64_t width, Visit&& visit) {
  if (space.count() == 0) return;
  // Trailing whole groups and the last cut one are contiguous together; the groups before them are
  // stepped over.
  int inner = space.groups;
  std::int64_t length = 1, stride = 1;
  while (inner > 0) {
    const Space::Group& group = space.group[--inner];
    length = group.count * stride;
    stride *= group.total;
    if (group.count != group.total) break;
  }
  std::int64_t at[kMaxDims] = {};
  for (;;) {
    std::int64_t global = 0;
    for (int g = 0; g < space.groups; ++g) {
      global = global * space.group[g].total + space.group[g].begin + (g < inner ? at[g] : 0);
    }
    const std::int64_t end = global + length;
    while (global < end) {
      const std::int64_t stop = width > 0 ? smaller(end, (global / width + 1) * width) : end;
      Run run;
      run.global = global;
      run.count = stop - global;
      coordinates_of(space, global, run.coordinates);
      visit(run);
      global = stop;
    }
    int g = inner - 1;
    while (g >= 0 && ++at[g] == space.group[g].count) at[g--] = 0;
    if (g < 0) return;
  }
}

}  // namespace coconet::kernel
