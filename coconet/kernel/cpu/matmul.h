// A matmul of a plan on one rank's pieces.
#pragma once

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
  work.k = b_groups[b.space.groups - 2].count;
  work.n = b_groups[b.space.groups - 1].count;
  std::int64_t batches = 1;
  for (int g = 0; g + 2 < b.space.groups; ++g) batches *= b_groups[g].count;
  std::int64_t rows = 1;
  for (int g = 0; g + 1 < a.space.groups; ++g) rows *= a.space.group[g].count;
  if (a.space.empty_here || out.space.empty_here || batches == 0) return kOk;
  rows /= batches;
  if (count < 0) count = rows;
  work.m = count;
  work.a_stride = work.k;
  work.b_stride = work.n;
  work.out_stride = work.n;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t row = batch * rows + begin;
    work.a = static_cast<const char*>(a.data) + row * work.k * a.element_size;
    work.b = static_cast<const char*>(b.data) + batch * work.k * work.n * b.element_size;
    work.out = static_cast<char*>(out.data) + row * work.n * out.element_size;
    const Status status = call.matmul(call.runtime, work);
    if (status != kOk) return status;
  }
  return kOk;
}

}  // namespace coconet::kernel
