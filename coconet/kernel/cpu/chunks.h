// The chunks of an overlapped group: chunk c is the c-th piece of the rows of every owner's slice.
// Of slices (*), whose cuts fall on blocks, the rows are blocks.
#pragma once

#include <cstdint>

#include "coconet/kernel/cpu/space.h"
#include "coconet/kernel/cut.h"

namespace coconet::kernel {

struct Chunks {
  std::int64_t rows = 0;  // of the whole sliced range
  int owners = 1;
  std::int64_t count = 1;  // chunks
  std::int64_t each = 0;   // rows of a chunk of one owner
  std::int64_t slice = 0;  // rows of the largest slice

  COCONET_ONCE Chunks(std::int64_t rows, int owners, std::int64_t wanted)
      : rows(rows), owners(owners) {
    slice = cut(rows, owners, 0).count;
    count = larger(1, wanted);
    each = slice / count + (slice % count != 0);
  }

  // Whose slice the row is of. Requires: it is a row.
  int owner_of(std::int64_t row) const { return static_cast<int>(row / slice); }

  // The rows of chunk `chunk` of an owner's slice, counted from its begin.
  COCONET_ONCE Cut of_slice(int owner, std::int64_t chunk) const {
    const Cut slice = cut(rows, owners, owner);
    const std::int64_t begin = smaller(slice.count, chunk * each);
    return {begin, smaller(each, slice.count - begin)};
  }

  // Calls work(begin, count) with the rows of the chunk of every owner, counted from the tensor's
  // first; once for rows that follow each other, as those of a single chunk do.
  template <class Work>
  auto of_all(std::int64_t chunk, Work&& work) const -> decltype(work(rows, rows)) {
    Cut stretch{0, 0};
    for (int owner = 0; owner < owners; ++owner) {
      Cut piece = of_slice(owner, chunk);
      if (piece.count == 0) continue;
      piece.begin += cut(rows, owners, owner).begin;
      if (stretch.begin + stretch.count == piece.begin) {
        stretch.count += piece.count;
        continue;
      }
      const auto status =
          stretch.count == 0 ? decltype(work(rows, rows)){} : work(stretch.begin, stretch.count);
      if (status != decltype(work(rows, rows)){}) return status;
      stretch = piece;
    }
    return stretch.count == 0 ? decltype(work(rows, rows)){} : work(stretch.begin, stretch.count);
  }
};

// What a launch works on at a time, and where that stands in rings: the rows of chunk `chunk` of an
// owner's slice. Where there is one chunk, of all owners', from `owner` on.
struct ChunkTurn {
  const Chunks& chunks;
  int owner;
  std::int64_t chunk;

  // A ring has memory for `ring` chunks of all owners, chunk c of owner o in place c % ring *
  // owners
  // + o, unless that is no less than all of the tensor: then it is the tensor. What is added to a
  // row of the tensor, one of the turn's, to get the row of the ring.
  COCONET_ONCE std::int64_t to_ring(std::int64_t ring) const {
    if (ring * chunks.each >= chunks.slice) return 0;
    const std::int64_t place = chunk % ring * chunks.owners + owner;
    return place * chunks.each - (owner * chunks.slice + chunk * chunks.each);
  }

  // As to_ring, of a tensor of which the rank holds a slice.
  COCONET_ONCE std::int64_t to_ring_of_slice(std::int64_t ring) const {
    return ring * chunks.each >= chunks.slice ? 0 : (chunk % ring - chunk) * chunks.each;
  }
};

// Elements that a piece has for each index of its dims 0..last.
COCONET_ONCE inline std::int64_t row_elements(const Space& space, int last) {
  std::int64_t product = 1;
  for (int g = 0; g < space.groups; ++g) {
    if (space.group[g].first > last) product *= space.group[g].count;
  }
  return product;
}

// Dims 0..last of a space that is whole there, taken as one index.
COCONET_ONCE inline Space merged(Space space, int last) {
  cut_space(space, 0, last, 1, 1, 0);
  return space;
}

}  // namespace coconet::kernel
