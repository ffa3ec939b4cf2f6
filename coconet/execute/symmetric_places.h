// Inputs, states and outputs that stand in symmetric memory of the caller's, where the ranks of a
// job use them: no copy is made of them, as of what is staged.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "coconet/runtime/symmetric_memory.h"

namespace coconet::execute {

struct SymmetricPlace {
  std::shared_ptr<const runtime::SymmetricMemory> memory;
  std::size_t offset = 0;  // of every rank, in bytes: a multiple of kSymmetricAlignment

  std::byte* of(int rank) const { return memory->of(rank).data() + offset; }
};

inline constexpr std::size_t kSymmetricAlignment = 128;

using SymmetricPlaces = std::map<std::string, SymmetricPlace>;  // by name

}  // namespace coconet::execute
