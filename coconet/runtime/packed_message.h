// Messages: what a rank sends its peers with its entry to a call, so that small inputs need not be
// fetched after the entry has been seen.
//
// A message stands in the receiver's segment, in lines that carry their own flag: a line is
// complete when its flag is that of the message. A flag is never used twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coconet::runtime {

inline constexpr int kMessageLines = 40;
inline constexpr int kLineWords = 7;
// Words of 8 bytes that a message has room for.
inline constexpr std::size_t kMessageWords = std::size_t{kMessageLines} * kLineWords;

// One store buffer drains in order and a line is written by one rank, so who sees the flag sees the
// words.
struct alignas(64) PackedLine {
  std::uint64_t words[kLineWords];
  std::atomic<std::uint64_t> flag;
};

struct PackedMessage {
  PackedLine lines[kMessageLines];

  // Requires: the receiver has done with what was there.
  void send(std::uint64_t flag, std::span<const std::uint64_t> words);
  // All of `count` words have come.
  bool has_come(std::uint64_t flag, std::size_t count) const;
  // Requires: they have come.
  void receive(std::span<std::uint64_t> words) const;
};

}  // namespace coconet::runtime
