// A matmul of a plan on one rank's pieces.
#pragma once

#include <algorithm>
#include <cstdint>

#include "coconet/kernel/call.h"
#include "coconet/kernel/cpu/space.h"

namespace coconet::kernel {

struct MatmulOperand {
  const Space& space;
  void* data;
  int element_size;
};

// out = a b. Dims of b before its last two are batches, which a and out have too; else all dims of
// a before the last are rows. Only rows [begin, begin + count) of out (count < 0: all); with
// batches, of each.
inline Status matmul_piece(const Call& call, MatmulType type, MatmulType out_type,
                           const MatmulOperand& a, const MatmulOperand& b, const MatmulOperand& out,
                           std::int64_t begin = 0, std::int64_t count = -1) {
  const Space::Group* const b_groups = b.space.group;
  MatmulCall work;
  work.type = type;
  work.out_type = out_type;
  // One operand may hold a part of K, the other all of it: the product is over what both hold.
  const Space::Group& a_k = a.space.group[a.space.groups - 1];
  const Space::Group& b_k = b_groups[b.space.groups - 2];
  const std::int64_t k_begin = std::max(a_k.begin, b_k.begin);
  const std::int64_t k_end = std::min(a_k.begin + a_k.count, b_k.begin + b_k.count);
  work.k = std::max<std::int64_t>(0, k_end - k_begin);
  work.n = b_groups[b.space.groups - 1].count;
  std::int64_t batches = 1;
  for (int g = 0; g + 2 < b.space.groups; ++g) batches *= b_groups[g].count;
  std::int64_t rows = 1;
  for (int g = 0; g + 1 < a.space.groups; ++g) rows *= a.space.group[g].count;
  if (a.space.empty_here || out.space.empty_here || batches == 0) return kOk;
  rows /= batches;
  if (count < 0) count = rows;
  work.m = count;
  work.a_stride = a_k.count;
  work.b_stride = work.n;
  work.out_stride = work.n;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t row = batch * rows + begin;
    const std::int64_t a_first = row * a_k.count + (work.k > 0 ? k_begin - a_k.begin : 0);
    const std::int64_t b_row = batch * b_k.count + (work.k > 0 ? k_begin - b_k.begin : 0);
    work.a = static_cast<const char*>(a.data) + a_first * a.element_size;
    work.b = static_cast<const char*>(b.data) + b_row * work.n * b.element_size;
    work.out = static_cast<char*>(out.data) + row * work.n * out.element_size;
    const Status status = call.matmul(call.runtime, work);
    if (status != kOk) return status;
  }
  return kOk;
}

}  // namespace coconet::kernel
