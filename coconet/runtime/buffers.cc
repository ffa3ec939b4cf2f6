#include "coconet/runtime/buffers.h"

#include <algorithm>

#include "coconet/base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace coconet::runtime {

namespace {

constexpr std::size_t kAlignment = 128;

// From the begin of one buffer to that of the next: the bytes, then a gap of at least kAlignment.
std::size_t stride_of(const BufferNeed& need) {
  check(need.bytes >= 0, "a buffer's size is not negative");
  const auto bytes = static_cast<std::size_t>(need.bytes);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
}

std::size_t total(std::span<const BufferNeed> needs, bool symmetric) {
  std::size_t out = 0;
  for (const BufferNeed& need : needs) {
    if (need.symmetric == symmetric) out += stride_of(need);
  }
  return out;
}

}  // namespace

std::size_t symmetric_bytes(std::span<const BufferNeed> needs) { return total(needs, true); }

std::size_t private_bytes(std::span<const BufferNeed> needs) { return total(needs, false); }

Buffers::Buffers(const Communicator& communicator, std::span<const BufferNeed> needs,
                 std::shared_ptr<void> memory)
    : needs_(needs.begin(), needs.end()),
      rank_(communicator.rank()),
      ranks_(communicator.ranks()),
      private_memory_(std::move(memory)),
      addresses_(needs.size() * static_cast<std::size_t>(ranks_), nullptr) {
  check(symmetric_bytes(needs) <= communicator.segment(rank_).data_bytes(),
        "the symmetric buffers fit the segment");
  if (!private_memory_)
    private_memory_ = map_private(std::max<std::size_t>(private_bytes(needs), 1));
  place(static_cast<std::byte*>(private_memory_.get()), rank_, false);
  for (int rank = 0; rank < ranks_; ++rank) {
    place(communicator.segment(rank).data(), rank, true);
  }
  for (const std::span<std::byte> gap : gaps_) ASAN_POISON_MEMORY_REGION(gap.data(), gap.size());
}

Buffers::~Buffers() {
  for (const std::span<std::byte> gap : gaps_) ASAN_UNPOISON_MEMORY_REGION(gap.data(), gap.size());
}

void Buffers::place(std::byte* base, int rank, bool symmetric) {
  for (std::size_t buffer = 0; buffer < needs_.size(); ++buffer) {
    const BufferNeed& need = needs_[buffer];
    if (need.symmetric != symmetric) continue;
    addresses_[buffer * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank)] = base;
    const auto bytes = static_cast<std::size_t>(need.bytes);
    gaps_.emplace_back(base + bytes, stride_of(need) - bytes);
    base += stride_of(need);
  }
}

std::span<std::byte> Buffers::own(int buffer) const {
  const auto at = static_cast<std::size_t>(buffer);
  check(at < needs_.size(), "a buffer is one of the plan's");
  void* base = addresses_[at * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank_)];
  return {static_cast<std::byte*>(base), static_cast<std::size_t>(needs_[at].bytes)};
}

}  // namespace coconet::runtime
