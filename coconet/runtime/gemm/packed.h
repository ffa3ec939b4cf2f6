// Right operands that were packed to panels for earlier calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coconet/kernel/call.h"

namespace coconet::gemm {

// Memory of whole lines of the cache, which grows and is not cleared.
class Room {
 public:
  std::byte* of(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

// The panels of one right operand, made in order.
struct Packed {
  kernel::MatmulCall call;  // one that read it; of it b, its sizes and b_id count
  Room room;
  std::int64_t panels = 0;                           // that are made
  std::vector<std::int64_t> subnormal_columns = {};  // of these, of bf16 (subnormal.h)

  // Of this operand nothing is made yet.
  void begin(const kernel::MatmulCall& by) {
    call = by;
    panels = 0;
    subnormal_columns.clear();
  }
};

// Constant operands are needed again in every call of a module, others in one call alone.
inline constexpr std::size_t kMostPacked = 4;
inline constexpr std::size_t kMostConstant = 256;

// A thread's latest kMostPacked, and its latest kMostConstant of those that are constant.
class PackedOperands {
 public:
  // What was packed of the call's right operand in earlier calls of its b_id, or none yet.
  // Requires: call.b_id is not 0.
  Packed& of(const kernel::MatmulCall& call);

 private:
  using Latest = std::vector<std::unique_ptr<Packed>>;  // the latest first

  Latest once_, constant_;
};

}  // namespace coconet::gemm
