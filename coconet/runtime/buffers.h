// The buffers of a plan on one rank: symmetric ones at equal offsets in every rank's segment,
// private ones in memory of its own; and the table of addresses that a Call takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coconet/runtime/communicator.h"

namespace coconet::runtime {

struct BufferNeed {
  std::int64_t bytes = 0;  // 0 is legal; of a symmetric buffer the same on every rank
  bool symmetric = false;
};

// LaunchOptions::data_bytes for these buffers.
std::size_t symmetric_bytes(std::span<const BufferNeed> needs);
// Of a rank's memory of its own for these buffers.
std::size_t private_bytes(std::span<const BufferNeed> needs);

// Buffers begin at multiples of 128 bytes, are zero when the segment is new, and stand at least 128
// bytes apart (poisoned under the address sanitizer). Not longer-lived than the communicator.
class Buffers {
 public:
  // `memory`: of at least private_bytes(needs), for the private ones; null for some of its own.
  Buffers(const Communicator& communicator, std::span<const BufferNeed> needs,
          std::shared_ptr<void> memory = nullptr);
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  // See kernel::Call::address.
  std::span<void* const> addresses() const { return addresses_; }
  // This rank's own buffer.
  std::span<std::byte> own(int buffer) const;

 private:
  void place(std::byte* base, int rank, bool symmetric);

  std::vector<BufferNeed> needs_;
  int rank_;
  int ranks_;
  std::shared_ptr<void> private_memory_;
  std::vector<void*> addresses_;
  std::vector<std::span<std::byte>> gaps_;
};

}  // namespace coconet::runtime
