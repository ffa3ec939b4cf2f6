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
inline constexpr int kMaxNested = 16;  // of 8 dims and 8 axes

struct Space {
  // Dims first..last taken as one row-major index of `total`, cut to [begin, begin + count). With
  // children, the index is that of what they hold (an axis cut some of the dims before); else of
  // the dims themselves.
  struct Group {
    int first, last;
    std::int64_t total, begin, count;
    int children, child;  // nested[child] to nested[child + children - 1], major first
  };
  // Of the arrays the elements that are counted are set: to clear a kilobyte takes 30 ns, and a
  // small call makes a dozen spaces.
  int dims = 0;
  std::int64_t sizes[kMaxDims];
  int groups = 0;
  Group group[kMaxDims];
  int nested_groups = 0;
  Group nested[kMaxNested];
  bool empty_here = false;  // a rooted tensor away from its root
  // What a kernel visits of it, by index in the piece: elements [from, to), a thread's part; to <
  // 0: to the end.
  std::int64_t from = 0, to = -1;

  std::int64_t count() const {
    std::int64_t product = empty_here ? 0 : 1;
    for (int g = 0; g < groups; ++g) product *= group[g].count;
    return product;
  }
};

// The whole of a tensor.
COCONET_ONCE inline Space whole_space(const std::int64_t* sizes, int dims) {
  Space space;
  space.dims = space.groups = dims;
  for (int d = 0; d < dims; ++d) {
    space.sizes[d] = sizes[d];
    space.group[d] = {d, d, sizes[d], 0, sizes[d], 0, 0};
  }
  return space;
}

// Cuts dims first..last, as one index of what earlier cuts left, into `parts` and keeps `part`.
// Requires: the range holds every group that it overlaps.
COCONET_ONCE inline void cut_space(Space& space, int first, int last, std::int64_t grain, int parts,
                                   int part) {
  int from = 0;
  while (space.group[from].last < first) ++from;
  int to = from;
  while (space.group[to].last < last) ++to;
  Space::Group merged = space.group[from];
  if (from != to) {
    bool whole = true;
    merged.last = space.group[to].last;
    merged.total = 1;
    merged.begin = 0;
    for (int g = from; g <= to; ++g) {
      const Space::Group& group = space.group[g];
      whole = whole && group.children == 0 && group.count == group.total;
      merged.total *= group.count;
    }
    merged.count = merged.total;
    merged.children = whole ? 0 : to - from + 1;
    merged.child = space.nested_groups;
    for (int g = from; !whole && g <= to; ++g) space.nested[space.nested_groups++] = space.group[g];
  }
  const Cut piece = cut(merged.count, parts, part, grain);
  merged.begin += piece.begin;
  merged.count = piece.count;
  space.group[from] = merged;
  for (int g = to + 1; g < space.groups; ++g) space.group[from + g - to] = space.group[g];
  space.groups -= to - from;
}

// Restricts the group of dims first..last to rows [begin, begin + count) of its interval.
COCONET_ONCE inline Space rows_of(Space space, int first, std::int64_t begin, std::int64_t count) {
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

// The index inside a group of the element at `coordinates`, dim d of which is coordinates[d +
// shift]. Dims of 1 broadcast.
COCONET_ONCE inline std::int64_t index_in_group(const Space& space, const Space::Group& group,
                                                const std::int64_t* coordinates, int shift) {
  std::int64_t index = 0;
  for (int c = 0; c < group.children; ++c) {
    const Space::Group& child = space.nested[group.child + c];
    index = index * child.count + index_in_group(space, child, coordinates, shift);
  }
  for (int d = group.first; group.children == 0 && d <= group.last; ++d) {
    index = index * space.sizes[d] + (space.sizes[d] == 1 ? 0 : coordinates[d + shift]);
  }
  return index - group.begin;
}

// Where the element of the kernel's space at `coordinates` (of `dims` dims) stands in a buffer laid
// out by `buffer`.
COCONET_ONCE inline std::int64_t index_in(const Space& buffer, const std::int64_t* coordinates,
                                          int dims) {
  const int shift = dims - buffer.dims;
  std::int64_t index = 0;
  for (int g = 0; g < buffer.groups; ++g) {
    const Space::Group& group = buffer.group[g];
    index *= group.count;
    if (group.children > 0 || group.first != group.last) {
      index += index_in_group(buffer, group, coordinates, shift);
    } else {
      index +=
          (buffer.sizes[group.first] == 1 ? 0 : coordinates[group.first + shift]) - group.begin;
    }
  }
  return index;
}

// Adds to *global what element `index` of the group contributes; *stride is the number of elements
// of the dims after the group, then with those of the group.
COCONET_ONCE inline void add_global(const Space& space, const Space::Group& group,
                                    std::int64_t index, std::int64_t* stride,
                                    std::int64_t* global) {
  index += group.begin;
  if (group.children == 0) {
    *global += index * *stride;
    for (int d = group.first; d <= group.last; ++d) *stride *= space.sizes[d];
    return;
  }
  for (int c = group.children - 1; c >= 0; --c) {
    const Space::Group& child = space.nested[group.child + c];
    add_global(space, child, index % child.count, stride, global);
    index /= child.count;
  }
}

// The global flat index of element `index` of the piece; it ascends with the index.
inline std::int64_t global_of(const Space& space, std::int64_t index) {
  std::int64_t stride = 1, global = 0;
  for (int g = space.groups - 1; g >= 0; --g) {
    add_global(space, space.group[g], index % space.group[g].count, &stride, &global);
    index /= space.group[g].count;
  }
  return global;
}

// How many elements from `index` on, of `end`, of what these groups hold are contiguous in the
// dims' flat index: to the end of the last group that is cut.
COCONET_ONCE inline std::int64_t stretch_of(const Space& space, const Space::Group* groups,
                                            int count, std::int64_t index, std::int64_t end) {
  std::int64_t inner = 1;
  for (int g = count - 1; g >= 0; --g) {
    const Space::Group& group = groups[g];
    if (group.children > 0 || group.count != group.total) {
      const std::int64_t at = index / inner % group.count;
      std::int64_t held = group.count - at;
      if (group.children > 0) {
        held = stretch_of(space, &space.nested[group.child], group.children, group.begin + at,
                          group.begin + group.count);
      }
      return smaller(end - index, held * inner - index % inner);
    }
    inner *= group.count;
  }
  return end - index;
}

struct Run {
  std::int64_t global = 0;  // flat index of the first element
  std::int64_t count = 0;
  std::int64_t coordinates[kMaxDims] = {};  // of the first element
};

// The runs of what is visited of a space, in the order of the global flat index. width <= 0: runs
// end only where the piece does. Otherwise a run does not cross a multiple of `width`, and is as
// long as that allows.
class Runs {
 public:
  Runs(const Space& space, std::int64_t width)
      : space_(space),
        width_(width),
        end_index_(space.to < 0 ? space.count() : space.to),
        index_(space.from) {}

  // Sets the next run; false if there is none. Requires: `run` is as the last call left it.
  COCONET_ONCE bool next(Run& run) {
    if (global_ >= end_) return begin_stretch(run);
    // The run before ended at a multiple of the width. Rows follow each other without a division.
    const int last = space_.dims - 1;
    if (run.count > space_.sizes[last]) {
      coordinates_of(space_, global_, run.coordinates);
    } else {
      run.coordinates[last] += run.count;
      for (int d = last; d > 0 && run.coordinates[d] >= space_.sizes[d]; --d) {
        run.coordinates[d] -= space_.sizes[d];
        ++run.coordinates[d - 1];
      }
    }
    set(run, smaller(end_, global_ + width_));
    return true;
  }

 private:
  COCONET_ONCE bool begin_stretch(Run& run) {
    if (index_ >= end_index_) return false;
    const std::int64_t length = stretch_of(space_, space_.group, space_.groups, index_, end_index_);
    global_ = global_of(space_, index_);
    end_ = global_ + length;
    index_ += length;
    coordinates_of(space_, global_, run.coordinates);
    set(run, width_ > 0 ? smaller(end_, (global_ / width_ + 1) * width_) : end_);
    return true;
  }

  void set(Run& run, std::int64_t stop) {
    run.global = global_;
    run.count = stop - global_;
    global_ = stop;
  }

  const Space& space_;
  const std::int64_t width_, end_index_;
  std::int64_t index_;                 // in the piece, of what comes after the stretch
  std::int64_t global_ = 0, end_ = 0;  // what is left of the stretch
};

template <class Visit>
void for_each_run(const Space& space, std::int64_t width, Visit&& visit) {
  Runs runs(space, width);
  for (Run run; runs.next(run);) visit(run);
}

// Calls visit(index, offset, length) for the stretches of the global flat indices [global, global +
// count) that the space holds: elements `index` on of the piece, `offset` on of the range.
template <class Visit>
void for_each_held(const Space& space, std::int64_t global, std::int64_t count, Visit&& visit) {
  const std::int64_t held = space.count();
  std::int64_t index = 0, beyond = held;  // the first element that is not before the range
  while (index < beyond) {
    const std::int64_t middle = index + (beyond - index) / 2;
    if (global_of(space, middle) < global) {
      index = middle + 1;
    } else {
      beyond = middle;
    }
  }
  while (index < held) {
    const std::int64_t offset = global_of(space, index) - global;
    if (offset >= count) return;
    const std::int64_t length =
        smaller(count - offset, stretch_of(space, space.group, space.groups, index, held));
    visit(index, offset, length);
    index += length;
  }
}

}  // namespace coconet::kernel
