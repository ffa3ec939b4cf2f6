// What every library of collectives is asked for. One rank of it; the same calls on all.
#pragma once

#include <cstdint>

namespace coconet::bench {

// What collectives carry and, but for `half`, sum. f16 (half) no library here sums; where it has no
// sum of bf16 either, `Library` brings one, rounded after each addition.
enum class Number { f32, bf16, half };
inline std::int64_t bytes_of(Number number) { return number == Number::f32 ? 4 : 2; }

class Library {
 public:
  virtual ~Library() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // to = the sum over ranks of `from`.
  virtual void all_reduce(const void* from, void* to, std::int64_t count, Number) = 0;
  // The same of arrays of ranks * each elements; `to` is this rank's slice of it.
  virtual void reduce_scatter(const void* from, void* to, std::int64_t each, Number) = 0;
  // Slice r of `whole` = rank r's `from`, which may stand in its place there.
  virtual void all_gather(const void* from, void* whole, std::int64_t each, Number) = 0;
  // Slice r of `to` = this rank's slice of rank r's `from`.
  virtual void all_to_all(const void* from, void* to, std::int64_t each, Number) = 0;
};

}  // namespace coconet::bench
