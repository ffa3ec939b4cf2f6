// What a kernel needs to know of the other ranks: coordinates, groups, addresses, waits.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "coconet/kernel/call.h"
#include "coconet/kernel/cut.h"
#include "coconet/kernel/dropout.h"
#include "coconet/kernel/lanes.h"

namespace coconet::kernel {

inline constexpr int kMaxAxes = 8;
inline constexpr int kMaxRanks = 256;

// The ranks that differ from this one on some axes only, in rank order, this one among them.
struct Peers {
  int count = 0;
  int rank[kMaxRanks];  // the first `count` are set
};

// Of one rank in a shift: whom it sends to, -1 for nobody, and whether somebody sends to it.
struct Shifted {
  int to = -1;
  bool receives = false;
};

// This rank's place in the mesh.
struct Ranks {
  const Call& call;
  int axes;
  int sizes[kMaxAxes] = {};
  int coordinates[kMaxAxes] = {};

  Ranks(const Call& call, int axes) : Ranks(call, axes, call.rank) {}
  COCONET_ONCE Ranks(const Call& call, int axes, int rank) : call(call), axes(axes) {
    int rest = rank;
    for (int axis = axes - 1; axis >= 0; --axis) {
      sizes[axis] = call.mesh_sizes[axis];
      coordinates[axis] = rest % sizes[axis];
      rest /= sizes[axis];
    }
  }

  // The first rank of its group along these axes.
  COCONET_ONCE bool is_first(std::initializer_list<int> along) const {
    for (int axis : along) {
      if (coordinates[axis] != 0) return false;
    }
    return true;
  }

  bool is_first(std::initializer_list<int> along, int rank) const {
    return Ranks(call, axes, rank).is_first(along);
  }

  // Of the coordinates of `rank` on these axes: the part of a dropout's key that tells replicas
  // apart.
  COCONET_ONCE std::uint64_t local_hash(std::initializer_list<int> along, int rank) const {
    const Ranks there(call, axes, rank);
    std::int64_t at[kMaxAxes] = {};
    int count = 0;
    for (int axis : along) at[count++] = there.coordinates[axis];
    return coordinate_hash(at, count);
  }

  // The rank `by` further on `axis`, around its end if `wrap`.
  COCONET_ONCE Shifted shifted(int axis, std::int64_t by, bool wrap) const {
    std::int64_t stride = 1;
    for (int inner = axis + 1; inner < axes; ++inner) stride *= sizes[inner];
    const std::int64_t size = sizes[axis], at = coordinates[axis];
    std::int64_t to = at + by;
    if (wrap) to = (to % size + size) % size;
    const std::int64_t from = at - by;
    Shifted out;
    if (to >= 0 && to < size) out.to = call.rank + static_cast<int>((to - at) * stride);
    out.receives = wrap || (from >= 0 && from < size);
    return out;
  }

  COCONET_ONCE Peers peers(std::initializer_list<int> along) const {
    Peers out;
    for (int rank = 0; rank < call.ranks; ++rank) {
      bool same = true;
      for (int axis = axes - 1, rest = rank; axis >= 0; --axis) {
        bool free = false;
        for (int other : along) free |= other == axis;
        same &= free || rest % sizes[axis] == coordinates[axis];
        rest /= sizes[axis];
      }
      if (same && out.count < kMaxRanks) out.rank[out.count++] = rank;
    }
    return out;
  }
};

// Ends the call with an error unless the rate of a dropout is a number from 0 to 1.
COCONET_ONCE inline Status check_rate(const Call& call, int launch, float rate) {
  if (valid_rate(rate)) return kOk;
  char number[24], text[80];
  for (int digits = 6; digits <= 9; ++digits) {  // as many as tell it from other floats
    std::snprintf(number, sizeof number, "%.*g", digits, rate);
    if (std::strtof(number, nullptr) == rate) break;
  }
  std::snprintf(text, sizeof text, "the rate of a dropout must be from 0 to 1; found %s", number);
  return call.fail(call.runtime, launch, text);
}

// Blocks of a tensor of `count` elements.
inline std::int64_t blocks_of(std::int64_t count) {
  return count / kBlockElements + (count % kBlockElements != 0);
}

// Buffer `buffer` of rank `rank`.
template <class T>
T* pointer(const Call& call, int buffer, int rank) {
  return static_cast<T*>(call.address[std::int64_t{buffer} * call.ranks + rank]);
}

// All of `peers` but this rank have done tick `on`.
COCONET_ONCE inline Status wait_for(const Call& call, const Peers& peers, std::int64_t on,
                                    std::int64_t tick, int launch) {
  for (int p = 0; p < peers.count; ++p) {
    if (peers.rank[p] == call.rank) continue;
    const Status status = wait(call, peers.rank[p], on, static_cast<int>(tick), launch);
    if (status != kOk) return status;
  }
  return kOk;
}

}  // namespace coconet::kernel
