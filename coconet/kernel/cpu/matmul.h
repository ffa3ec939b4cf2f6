// A matmul of a plan on one rank's pieces.
#pragma once

#include <cstdint>

#include "coconet/kernel/call.h"
#include "coconet/kernel/cpu/space.h"

namespace coconet::kernel {

inline constexpr int kMostLaunches = 1 << 16;  // whose right operands have numbers

struct MatmulOperand {
  const Space& space;
  void* data;
  int element_size;
  std::int64_t ring = 0;  // what is added to the indexes of a turn (chunks.h)
};

// Where a batch of `out` (its index among the batches that `out` holds) stands among those of
// `operand`, whose leading groups are the same dims; each may hold all of a dim or a part.
inline std::int64_t batch_in(const Space& operand, const Space& out, int batch_groups,
                             std::int64_t batch) {
  std::int64_t index = 0, stride = 1;
  for (int g = batch_groups - 1; g >= 0; --g) {
    const std::int64_t at = out.group[g].begin + batch % out.group[g].count;
    index += (at - operand.group[g].begin) * stride;
    stride *= operand.group[g].count;
    batch /= out.group[g].count;
  }
  return index;
}

// out = a b. Dims of b before its last two are batches, which a and out have too; else all dims of
// a before the last are rows, or, if a is given transposed (`ta`), all before its last two batches.
// Of K and of batches an operand may hold a part and the other all: the product is over what both
// hold. Only rows [begin, begin + count) of out (count < 0: all), counted through all its batches:
// a chunk of launch `launch`, during which nothing writes b.
COCONET_ONCE inline Status matmul_piece(const Call& call, MatmulType type, MatmulType out_type,
                                        const MatmulOperand& a, const MatmulOperand& b,
                                        const MatmulOperand& out, bool ta = false, bool tb = false,
                                        std::int64_t begin = 0, std::int64_t count = -1,
                                        int launch = 0) {
  if (a.space.empty_here || out.space.empty_here) return kOk;
  const int b_batches = b.space.groups - 2;
  const int batch_groups = ta ? a.space.groups - 2 : b_batches;
  const Space::Group& a_k = a.space.group[a.space.groups - (ta ? 2 : 1)];
  const Space::Group& b_k = b.space.group[b_batches + (tb ? 1 : 0)];
  const std::int64_t k_begin = larger(a_k.begin, b_k.begin);
  const std::int64_t k_end = smaller(a_k.begin + a_k.count, b_k.begin + b_k.count);
  MatmulCall work;
  work.type = type;
  work.out_type = out_type;
  work.k = larger(0, k_end - k_begin);
  work.n = b.space.group[b_batches + (tb ? 0 : 1)].count;
  work.ta = ta;
  work.tb = tb;
  std::int64_t batches = 1, rows = 1;
  for (int g = 0; g < batch_groups; ++g) batches *= out.space.group[g].count;
  for (int g = batch_groups; g + 1 < out.space.groups; ++g) rows *= out.space.group[g].count;
  const std::int64_t end = count < 0 ? batches * rows : begin + count;
  const bool part = begin > 0 || end < batches * rows;
  if (part && call.id != 0 && launch < kMostLaunches) {
    work.b_id = call.id * kMostLaunches + static_cast<std::uint64_t>(launch);
  }
  work.a_stride = ta ? rows : a_k.count;
  work.b_stride = tb ? b_k.count : work.n;
  work.out_stride = work.n;
  const std::int64_t a_from = work.k > 0 ? k_begin - a_k.begin : 0;
  const std::int64_t b_from = work.k > 0 ? k_begin - b_k.begin : 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t first = larger(0, begin - batch * rows);
    work.m = smaller(rows, end - batch * rows) - first;
    if (work.m <= 0) continue;
    const std::int64_t a_batch = batch_in(a.space, out.space, batch_groups, batch);
    const std::int64_t b_batch =
        b_batches > 0 ? batch_in(b.space, out.space, batch_groups, batch) : 0;
    const std::int64_t a_first = ta ? a_from * rows + first : first * a_k.count + a_from;
    const std::int64_t b_first = tb ? b_from : b_from * work.n;
    const std::int64_t a_at = a_batch * rows * a_k.count + a_first + a.ring;
    const std::int64_t b_at = b_batch * b_k.count * work.n + b_first;
    work.a = static_cast<const char*>(a.data) + a_at * a.element_size;
    work.b = static_cast<const char*>(b.data) + b_at * b.element_size;
    const std::int64_t out_at = (batch * rows + first) * work.n + out.ring;
    work.out = static_cast<char*>(out.data) + out_at * out.element_size;
    const Status status = call.matmul(call.runtime, work);
    if (status != kOk) return status;
  }
  return kOk;
}

}  // namespace coconet::kernel
