// Tiles: the stretches of a run that a generated kernel works on at once, and what it does between
// loops over one.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>

#include "coconet/kernel/compute.h"
#include "coconet/kernel/cpu/ranks.h"
#include "coconet/kernel/cpu/space.h"
#include "coconet/kernel/cpu/stream.h"
#include "coconet/kernel/float16_block.h"
#include "coconet/kernel/lanes.h"

#if defined(__clang__)
#define COCONET_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define COCONET_LOOP _Pragma("GCC ivdep")  // element i touches no other element
#else
#define COCONET_LOOP
#endif

namespace coconet::kernel {

// Of a run that may be cut anywhere. Short, so that what a rank reads of peers and what it writes
// to them alternate: with 1,024 its writes came in bursts, and a step took 5 to 10 % longer.
inline constexpr std::int64_t kTile = 256;

// Room for one value of every element of a tile, in cache; on the stack up to Own elements.
template <class T, std::int64_t Own = kBlockElements>
class Scratch {
 public:
  explicit Scratch(std::int64_t count)
      : data_(count <= Own ? own_ : static_cast<T*>(::operator new(sizeof(T) * count, kAlign))) {}
  ~Scratch() {
    if (data_ != own_) ::operator delete(data_, kAlign);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return data_; }
  T& operator[](std::int64_t i) { return data_[i]; }

 private:
  static constexpr std::align_val_t kAlign{64};
  alignas(64) T own_[Own > 0 ? Own : 1];
  T* data_;
};

// For a kernel that needs more of them than a stack should hold.
template <class T>
using HeapScratch = Scratch<T, 0>;

// The values of a tile of 16 bits each as they are computed with, of two peers at a time.
template <class T, std::int64_t Own = kBlockElements>
class Widened {
 public:
  explicit Widened(std::int64_t count) : even_(count), odd_(count) {}
  // Valid until the next call with this slot, 0 or 1.
  const Compute<T>* tile(int slot, const T* from, std::int64_t count) {
    Compute<T>* const to = slot == 0 ? even_.data() : odd_.data();
    widen_each(from, to, count);
    return to;
  }

 private:
  Scratch<Compute<T>, Own> even_, odd_;
};
template <class T>
using HeapWidened = Widened<T, 0>;

// Calls visit(run, offset, count) for every tile of the space: elements offset .. offset + count of
// the run. width <= 0: tiles of kTile elements of runs that end only where the piece does; else a
// run that does not cross a multiple of width is one tile.
template <class Visit>
void for_each_tile(const Space& space, std::int64_t width, Visit&& visit) {
  for_each_run(space, width, [&](const Run& run) {
    const std::int64_t length = run.count;
    const std::int64_t step = width > 0 ? length : kTile;
    for (std::int64_t offset = 0; offset < length; offset += step) {
      visit(run, offset, smaller(step, length - offset));
    }
  });
}

// Tiles of kTile elements of the rows (last dim), or of what the piece has of them.
template <class Visit>
void for_each_row_tile(const Space& space, Visit&& visit) {
  for_each_run(space, space.sizes[space.dims - 1], [&](const Run& run) {
    const std::int64_t length = run.count;
    for (std::int64_t offset = 0; offset < length; offset += kTile) {
      visit(run, offset, smaller(kTile, length - offset));
    }
  });
}

// The rows (last dim) of a space that does not cut it, empty ones too.
template <class Visit>
void for_each_row(const Space& space, Visit&& visit) {
  const std::int64_t columns = space.sizes[space.dims - 1];
  if (columns > 0) return for_each_tile(space, columns, visit);
  Space rows = space;  // the row's one imagined element
  rows.sizes[space.dims - 1] = 1;
  for (int g = 0; g < rows.groups; ++g) {
    if (rows.group[g].last == space.dims - 1)
      rows.group[g] = {space.dims - 1, space.dims - 1, 1, 0, 1, 0, 0};
  }
  for_each_run(rows, 1, [&](const Run& run) { visit(run, std::int64_t{0}, std::int64_t{0}); });
}

// One value of the type is as quickly rounded as one of a tile (float16_block.h).
template <class T>
inline constexpr bool kRoundsAlone = !std::is_same_v<T, f16>;

// x[i] = rounded<T>(x[i]).
template <class T>
void round_tile([[maybe_unused]] Compute<T>* x, [[maybe_unused]] std::int64_t count) {
  if constexpr (kIs16Bit<T>) round_in_place<T>(x, count);
}

// out[i] = the fold over the peers, in rank order, of of_peer(rank, slot)(i), accumulated in the
// compute type and rounded once to T. What is made with one slot, 0 or 1, may be gone when
// something else is made with it.
template <class F, class T, class OfPeer>
void fold_peers(const Peers& peers, std::int64_t count, Compute<T>* out, OfPeer&& of_peer) {
  if (peers.count == 2) {
    const auto a = of_peer(peers.rank[0], 0);
    const auto b = of_peer(peers.rank[1], 1);
    COCONET_LOOP
    for (std::int64_t i = 0; i < count; ++i) {
      const Compute<T> both = F{}(a(i), b(i));
      out[i] = kRoundsAlone<T> ? rounded<T>(both) : both;
    }
    if (!kRoundsAlone<T>) round_tile<T>(out, count);
    return;
  }
  const auto first = of_peer(peers.rank[0], 0);
  COCONET_LOOP
  for (std::int64_t i = 0; i < count; ++i) out[i] = first(i);
  for (int p = 1; p < peers.count; ++p) {
    const auto next = of_peer(peers.rank[p], p % 2);
    COCONET_LOOP
    for (std::int64_t i = 0; i < count; ++i) out[i] = F{}(out[i], next(i));
  }
  round_tile<T>(out, count);
}

// Whether the launch reads a buffer of this rank that it writes: its lines are in the cache then.
enum class Reads { no, yes };

// memcpy of `count` elements to `to`, which is in a buffer of rank `rank`.
template <class T>
inline void store_tile(const Call& call, int rank, Reads reads, T* to, const T* tile,
                       std::int64_t count) {
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  const bool past = rank != call.rank ? call.stream != Stream::none
                                      : call.stream == Stream::all && reads == Reads::no;
  if (past && bytes >= kStreamBytes) {
    stream_copy(to, tile, bytes);
  } else {
    std::memcpy(to, tile, static_cast<std::size_t>(bytes));
  }
}

// Writes a tile to elements index .. index + count of the buffer of every peer; one-shot, where
// every peer makes the tile itself, of this rank's alone.
template <class T>
COCONET_ONCE void store_all(const Call& call, const Peers& peers, int buffer, Reads reads,
                            std::int64_t index, const T* tile, std::int64_t count) {
  if (call.one_shot) {
    T* const to = pointer<T>(call, buffer, call.rank) + index;
    return store_tile(call, call.rank, reads, to, tile, count);
  }
  for (int p = 0; p < peers.count; ++p) {
    const int rank = peers.rank[p];
    store_tile(call, rank, reads, pointer<T>(call, buffer, rank) + index, tile, count);
  }
}

// Writes a tile to the buffer of the rank that this one sends to, and zeros to this rank's if none
// sends to it.
template <class T>
COCONET_ONCE void store_all(const Call& call, const Shifted& shifted, int buffer, Reads reads,
                            std::int64_t index, const T* tile, std::int64_t count) {
  const int to = shifted.to;
  if (to >= 0) store_tile(call, to, reads, pointer<T>(call, buffer, to) + index, tile, count);
  if (shifted.receives) return;
  std::memset(pointer<T>(call, buffer, call.rank) + index, 0,
              static_cast<std::size_t>(count) * sizeof(T));
}

// Writes each element of a tile, whose first has the global flat index `global`, to the buffer of
// the peer that holds it; piece_of(ranks) is what a rank holds.
template <class T, class PieceOf>
void store_held(const Ranks& ranks, const Peers& peers, PieceOf&& piece_of, int buffer, Reads reads,
                std::int64_t global, const T* tile, std::int64_t count) {
  for (int p = 0; p < peers.count; ++p) {
    const int rank = peers.rank[p];
    const Space held = piece_of(Ranks(ranks.call, ranks.axes, rank));
    T* const to = pointer<T>(ranks.call, buffer, rank);
    for_each_held(held, global, count,
                  [&](std::int64_t index, std::int64_t offset, std::int64_t length) {
                    store_tile(ranks.call, rank, reads, to + index, tile + offset, length);
                  });
  }
}

}  // namespace coconet::kernel
