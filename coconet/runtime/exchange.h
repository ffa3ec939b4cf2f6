// What every rank sends every other with its entry to a call, and what came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coconet/runtime/packed_message.h"

namespace coconet::runtime {

// Ranks that a segment has room for messages of.
inline constexpr int kMostSenders = 8;

class Exchange {
 public:
  // Whether messages have room for so many bytes in `parts` parts.
  static bool fits(int ranks, std::size_t bytes, std::size_t parts);

  // `given`: parts of this rank's memory, of the same sizes on every rank.
  Exchange(int ranks, std::vector<std::span<const std::byte>> given);

  // A message for every peer: the parts as they are now, after `digest`.
  std::span<const std::uint64_t> outgoing(std::uint64_t digest);
  // Where the message of a rank is to be put: its digest first.
  std::span<std::uint64_t> incoming(int rank) { return incoming_[static_cast<std::size_t>(rank)]; }
  // What a rank has given as `part`; kept in place from call to call.
  std::byte* received(int rank, std::size_t part);

 private:
  std::vector<std::span<const std::byte>> given_;
  std::vector<std::size_t> begin_;  // by part: its first word
  std::vector<std::uint64_t> outgoing_;
  std::vector<std::vector<std::uint64_t>> incoming_;
};

}  // namespace coconet::runtime
