// The canonical reductions: they give the same bits whatever the vector width, thread count,
// slicing or fusion.
//
// Inside one block or row, element i goes to lane i mod 16; each of the 16 lanes starts at the
// fold's identity and folds its elements in index order; then the lanes are folded 0..15 from the
// left. A tensor-wide reduction cuts the flat index into blocks of 1,024 elements, reduces each so,
// and folds the blocks in order; a row reduction treats the row as one run of lanes by column
// index.
//
// Values are compute values (16-bit types accumulate in float).
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "coconet/kernel/operators.h"

namespace coconet::kernel {

inline constexpr int kLanes = 16;
inline constexpr std::int64_t kBlockElements = 1024;

// The folds. Integer sums and products wrap. As its identity is +0, a Sum over lanes or with the
// identity is never -0: a row of -0 sums to +0.
struct Sum {
  template <class T>
  COCONET_HD static constexpr T identity() {
    return T{0};
  }
  template <class T>
  COCONET_HD COCONET_INLINE T operator()(T a, T b) const {
    return kernel::add(a, b);
  }
};

struct Prod {
  template <class T>
  COCONET_HD static constexpr T identity() {
    return T{1};
  }
  template <class T>
  COCONET_HD COCONET_INLINE T operator()(T a, T b) const {
    return kernel::mul(a, b);
  }
};

struct Max {
  template <class T>
  COCONET_HD static constexpr T identity() {
    if constexpr (std::is_floating_point_v<T>) {
      return -std::numeric_limits<T>::infinity();
    } else {
      return std::numeric_limits<T>::min();
    }
  }
  template <class T>
  COCONET_HD COCONET_INLINE T operator()(T a, T b) const {
    return kernel::max(a, b);
  }
};

struct Min {
  template <class T>
  COCONET_HD static constexpr T identity() {
    if constexpr (std::is_floating_point_v<T>) {
      return std::numeric_limits<T>::infinity();
    } else {
      return std::numeric_limits<T>::max();
    }
  }
  template <class T>
  COCONET_HD COCONET_INLINE T operator()(T a, T b) const {
    return kernel::min(a, b);
  }
};

// The identity as stored: an element that takes part without effect.
template <class F, class T>
COCONET_HD constexpr T stored_identity() {
  return round_to<T>(F::template identity<Compute<T>>());
}

// Folds element(0) .. element(count - 1), compute values, in 16 lanes. Nothing gives the identity.
template <class F, class Element>
COCONET_HD auto reduce_row(std::int64_t count, Element&& element) {
  using T = std::remove_cvref_t<decltype(element(std::int64_t{0}))>;
  const F fold;
  T lane[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = F::template identity<T>();
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] = fold(lane[l], T{element(i + l)});
  }
  for (int l = 0; i + l < count; ++l) lane[l] = fold(lane[l], T{element(i + l)});
  T result = lane[0];
  for (int l = 1; l < kLanes; ++l) result = fold(result, lane[l]);
  return result;
}

// The reduction of one block. Requires: count <= kBlockElements; element(i) is the element at the
// block's begin + i.
template <class F, class Element>
COCONET_HD auto reduce_block(std::int64_t count, Element&& element) {
  return kernel::reduce_row<F>(count, std::forward<Element>(element));
}

// Folds value(0) .. value(count - 1) from the left, starting at value(0): the fold over the ranks
// of a group. Nothing gives the identity.
template <class F, class Value>
COCONET_HD auto fold_ranks(std::int64_t count, Value&& value) {
  using T = std::remove_cvref_t<decltype(value(std::int64_t{0}))>;
  if (count == 0) return F::template identity<T>();
  T result = value(std::int64_t{0});
  for (std::int64_t i = 1; i < count; ++i) result = F{}(result, T{value(i)});
  return result;
}

// Folds the results of blocks in their order, starting at the first. Nothing gives the identity.
template <class F, class T>
COCONET_HD Compute<T> fold_blocks(std::int64_t count, const T* blocks) {
  return kernel::fold_ranks<F>(count, [blocks](std::int64_t i) { return widen(blocks[i]); });
}

// A whole tensor of `count` elements: its blocks, folded. element(i) is the element at flat index
// i.
template <class F, class Element>
COCONET_HD auto reduce_tensor(std::int64_t count, Element&& element) {
  const std::int64_t blocks = (count + kBlockElements - 1) / kBlockElements;
  return kernel::fold_ranks<F>(blocks, [&](std::int64_t b) {
    const std::int64_t begin = b * kBlockElements;
    const std::int64_t size = count - begin < kBlockElements ? count - begin : kBlockElements;
    return kernel::reduce_block<F>(size, [&](std::int64_t i) { return element(begin + i); });
  });
}

}  // namespace coconet::kernel
