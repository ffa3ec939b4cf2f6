// How often one iteration of a floor passes over its array: what takes less than some microseconds
// is not measured well alone.
#pragma once

#include <cstdint>

namespace coconet::bench {

inline std::int64_t floor_passes(std::int64_t bytes) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 20;
  return bytes <= 0 || bytes >= kLeast ? 1 : (kLeast + bytes - 1) / bytes;
}

}  // namespace coconet::bench
