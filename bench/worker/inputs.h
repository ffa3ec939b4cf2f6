// The values that every participant begins with, and what they must become.
#pragma once

#include <cmath>
#include <cstdint>

namespace coconet::bench {

// In [0, 1), of 24 bits, by index and stream.
inline float drawn(std::int64_t index, std::uint64_t stream) {
  std::uint64_t x = static_cast<std::uint64_t>(index) + (stream << 48) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<float>((x ^ (x >> 31)) >> 40) * 0x1p-24f;
}

// Gradients above 0: the moments of a step that is repeated a million times never become subnormal,
// which would be measured instead of the step.
inline float gradient(int rank, std::int64_t i) {
  return 0.5f + drawn(i, static_cast<std::uint64_t>(rank) + 10);
}
// The same for f16 gradients, which hold it exactly.
inline float short_gradient(int rank, std::int64_t i) {
  const float drawn_here = drawn(i, static_cast<std::uint64_t>(rank) + 10);
  return 0.5f + std::floor(drawn_here * 1024) / 1024;
}
inline float parameter(std::int64_t i) { return drawn(i, 1) - 0.5f; }
inline float first_moment(std::int64_t i) { return drawn(i, 2) - 0.5f; }
inline float second_moment(std::int64_t i) { return 0.1f + drawn(i, 3); }

// The fold in rank order, which is the contract of ours; of two ranks there is no other.
inline float total(int ranks, std::int64_t i, decltype(gradient)& of = gradient) {
  float sum = of(0, i);
  for (int rank = 1; rank < ranks; ++rank) sum += of(rank, i);
  return sum;
}

struct StepScalars {
  float lr = 0.1f, beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f;
  float wd = 0.01f;  // LAMB's
  int step = 10;
};

// Which elements are compared: of many every 7th, which meets every place in vectors and blocks.
inline std::int64_t compared_step(std::int64_t elements) {
  return elements > std::int64_t{1} << 20 ? 7 : 1;
}

// max that does not lose NaN.
inline double worse(double difference, double got, double want) {
  const double here = std::fabs(got - want);
  return here <= difference ? difference : std::isnan(here) ? INFINITY : here;
}

}  // namespace coconet::bench
