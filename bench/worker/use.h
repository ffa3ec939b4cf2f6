// What a program does with its buffers between two calls, as far as caches see it: each rank reads
// its outputs and writes its inputs anew. Without it a library that reads its peers' memory would
// find there, from the second call on, what its own cache still holds, and a library that writes to
// it would go on owning those lines: an exchange without a transfer.
#pragma once

#include <cstdint>

namespace coconet::bench {

// One element in each line of a cache.
inline void use(const float* outputs, float* inputs, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  float sum = 0;
  for (std::int64_t i = 0; i < count; i += kLine) sum += outputs[i];
  __asm__ volatile("" : : "m"(sum) : "memory");
  for (std::int64_t i = 0; i < count; i += kLine) {
    const float value = inputs[i];
    __asm__ volatile("" ::: "memory");
    inputs[i] = value;
  }
  __asm__ volatile("" ::: "memory");
}

}  // namespace coconet::bench
