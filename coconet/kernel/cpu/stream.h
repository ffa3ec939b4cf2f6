// Copies past the caches. A store to a line that another core has in its cache first takes the line
// from there; a store past the caches does not, and does not read the line from memory either.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coconet::kernel {

// Less is not worth it.
inline constexpr std::int64_t kStreamBytes = 512;

// memcpy(to, from, bytes), whole lines past the caches where the processor can. What it writes is
// published by Counter::store like any other store.
inline void stream_copy(void* to, const void* from, std::int64_t bytes) {
#if defined(__SSE2__)
  constexpr std::int64_t kLine = 64;
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % kLine);
  const std::int64_t head = beyond == 0 ? 0 : kLine - beyond;
  if (head >= bytes) {
    std::memcpy(out, in, static_cast<std::size_t>(bytes));
    return;
  }
  std::memcpy(out, in, static_cast<std::size_t>(head));
  std::int64_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    const auto* line = reinterpret_cast<const __m128i*>(in + at);
    auto* there = reinterpret_cast<__m128i*>(out + at);
    const __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
    const __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);
    _mm_stream_si128(there, a);
    _mm_stream_si128(there + 1, b);
    _mm_stream_si128(there + 2, c);
    _mm_stream_si128(there + 3, d);
  }
  std::memcpy(out + at, in + at, static_cast<std::size_t>(bytes - at));
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

}  // namespace coconet::kernel
