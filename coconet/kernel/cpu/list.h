// What a kernel over a list needs to know of a block: which member's it is, and how much of it.
#pragma once

#include <cstdint>

#include "coconet/kernel/call.h"
#include "coconet/kernel/cpu/tile.h"
#include "coconet/kernel/cut.h"
#include "coconet/kernel/lanes.h"

namespace coconet::kernel {

// The elements of a block that its member has; what is beyond has no meaning.
COCONET_ONCE inline std::int64_t valid_in(const ListTable& list, std::int64_t block) {
  const std::int64_t member = list.member_of[block];
  const std::int64_t before = (block - list.first_block[member]) * kBlockElements;
  return smaller(kBlockElements, list.elements[member] - before);
}

// The fold of the results of a member's blocks in their order; the identity if it has none.
template <class F, class T>
COCONET_ONCE Compute<T> fold_member(const ListTable& list, std::int64_t member, const T* blocks) {
  const std::int64_t first = list.first_block[member];
  return fold_blocks<F>(list.first_block[member + 1] - first, blocks + first);
}

// out[i] = the fold, in list order, of element `index` + i of every member, accumulated in the
// compute type and rounded once to T. `values`: the packed list.
template <class F, class T>
void fold_across(const ListTable& list, const T* values, std::int64_t index, std::int64_t count,
                 Compute<T>* out) {
  if (list.members == 0) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = widen(stored_identity<F, T>());
    return;
  }
  const T* member = values + list.first_block[0] * kBlockElements + index;
  COCONET_LOOP
  for (std::int64_t i = 0; i < count; ++i) out[i] = widen(member[i]);
  for (std::int64_t m = 1; m < list.members; ++m) {
    member = values + list.first_block[m] * kBlockElements + index;
    COCONET_LOOP
    for (std::int64_t i = 0; i < count; ++i) out[i] = F{}(out[i], widen(member[i]));
  }
  if constexpr (kIs16Bit<T>) {
    COCONET_LOOP
    for (std::int64_t i = 0; i < count; ++i) out[i] = rounded<T>(out[i]);
  }
}

template <class F, class T>
Compute<T> fold_across(const ListTable& list, const T* values, std::int64_t index) {
  Compute<T> out{};
  fold_across<F>(list, values, index, 1, &out);
  return out;
}

}  // namespace coconet::kernel
