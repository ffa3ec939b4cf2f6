// What a program does with its buffers between two calls, as far as caches see it: each rank reads
// its outputs and writes its inputs anew. Without it a library that reads its peers' memory would
// find there, from the second call on, what its own cache still holds, and a library that writes to
// it would go on owning those lines: an exchange without a transfer.
#pragma once

#include <cstddef>
#include <span>

namespace coconet::bench {

// One byte in each line of a cache.
inline void use(std::span<const std::byte> outputs, std::span<std::byte> inputs) {
  constexpr std::size_t kLine = 64;
  std::byte sum{};
  for (std::size_t i = 0; i < outputs.size(); i += kLine) sum ^= outputs[i];
  __asm__ volatile("" : : "m"(sum) : "memory");
  for (std::size_t i = 0; i < inputs.size(); i += kLine) {
    const std::byte value = inputs[i];
    __asm__ volatile("" ::: "memory");
    inputs[i] = value;
  }
  __asm__ volatile("" ::: "memory");
}

template <class Out, class In>
void use(const Out* outputs, std::size_t output_count, In* inputs, std::size_t input_count) {
  use(std::as_bytes(std::span(outputs, output_count)),
      std::as_writable_bytes(std::span(inputs, input_count)));
}

}  // namespace coconet::bench
