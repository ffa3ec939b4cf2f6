#include "coconet/runtime/packed_message.h"

#include <algorithm>
#include <cstring>

#include "coconet/base/error.h"

namespace coconet::runtime {
namespace {

// Calls visit(line, words of it that count) for the lines of so many words.
template <class Visit>
void for_each_line(std::size_t count, const Visit& visit) {
  for (std::size_t at = 0, line = 0; at < count; at += kLineWords, ++line) {
    visit(line, at, std::min<std::size_t>(kLineWords, count - at));
  }
}

}  // namespace

void PackedMessage::send(std::uint64_t flag, std::span<const std::uint64_t> words) {
  check(words.size() <= kMessageWords, "a message fits its place");
  for_each_line(words.size(), [&](std::size_t line, std::size_t at, std::size_t length) {
    std::memcpy(lines[line].words, words.data() + at, length * sizeof(std::uint64_t));
    lines[line].flag.store(flag, std::memory_order_release);
  });
}

bool PackedMessage::has_come(std::uint64_t flag, std::size_t count) const {
  bool out = true;
  for_each_line(count, [&](std::size_t line, std::size_t, std::size_t) {
    out = out && lines[line].flag.load(std::memory_order_acquire) == flag;
  });
  return out;
}

void PackedMessage::receive(std::span<std::uint64_t> words) const {
  for_each_line(words.size(), [&](std::size_t line, std::size_t at, std::size_t length) {
    std::memcpy(words.data() + at, lines[line].words, length * sizeof(std::uint64_t));
  });
}

}  // namespace coconet::runtime
