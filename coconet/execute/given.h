// Whether a rank's inputs have values, and whether ranks agree on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "coconet/plan/plan.h"

namespace coconet::execute {

// Of every dim of the graph, in order of declaration; of a list's dim how many members have one.
// UserError(usage) for a size of what is no dim.
std::vector<std::int64_t> dims_of(const Graph& graph, const Sizes& sizes);

class GivenInputs {
 public:
  explicit GivenInputs(const plan::Plan& plan) : plan_(plan), given_(plan.buffers.size()) {}

  // The buffer has a value, or memory that somebody has asked for, to fill it in.
  void give(int buffer) { given_[static_cast<std::size_t>(buffer)] = true; }
  // UserError(usage) if an input of the program has none. States begin as zeros.
  void check(int rank) const;

 private:
  const plan::Plan& plan_;
  std::vector<bool> given_;
};

// Of the inputs and states that every rank of the mesh must hold the same; not 0. place(buffer):
// this rank's piece.
std::uint64_t hash_of_replicated(
    const plan::Plan& plan, const std::function<std::span<const std::byte>(int buffer)>& place);

}  // namespace coconet::execute
