// What a kernel over a list needs to know of a block: which member's it is, and how much of it.
#pragma once

#include <cstdint>

#include "coconet/kernel/call.h"
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

}  // namespace coconet::kernel
