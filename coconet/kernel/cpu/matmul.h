// A matmul of a plan on one rank's pieces.
#pragma once

#include <cstdint>

#include "coconet/kernel/call.h"
#include "coconet/kernel/cpu/space.h"
#include "coconet/kernel/cpu/threads.h"

namespace coconet::kernel {

inline constexpr int kMostLaunches = 1 << 16;  // whose right operands have numbers

struct MatmulOperand {
  const Space& space;
  void* data;
  int element_size;
  std::int64_t ring = 0;  // what is added to the indexes of a turn (chunks.h)
};

// See Call::constant.
inline std::uint64_t constant_of(const Call& call, int buffer) {
  return call.constant == nullptr ? 0 : call.constant[buffer];
}

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

// What the threads of a rank multiply alone: `rows` x `columns` parts of a product.
struct ProductGrid {
  int rows = 1, columns = 1;
};

// What a kernel of products takes at once: parts are whole multiples of it.
inline constexpr std::int64_t kProductRows = 32, kProductColumns = 64;

// Each thread packs its rows of the left operand and its columns of the right one, so parts are
// close to square: of an element packing costs about what this many multiplications do.
COCONET_ONCE inline ProductGrid product_grid(std::int64_t rows, std::int64_t columns, int parts) {
  constexpr double kPacking = 32;
  ProductGrid best{parts, 1};
  double least = -1;
  for (int by_rows = 1; by_rows <= parts; ++by_rows) {
    const int by_columns = parts / by_rows;
    const auto m = static_cast<double>(cut(rows, by_rows, 0, kProductRows).count);
    const auto n = static_cast<double>(cut(columns, by_columns, 0, kProductColumns).count);
    const double cost = m * n + kPacking * (m + n);
    if (least >= 0 && cost >= least) continue;
    least = cost;
    best = {by_rows, by_columns};
  }
  return best;
}

// One rank's part of a product, from how its pieces are cut.
struct PieceProduct {
  PieceProduct(const MatmulOperand& a, const MatmulOperand& b, const MatmulOperand& out,
               int batch_groups, int b_batches)
      : a(a), b(b), out(out), batch_groups(batch_groups), b_batches(b_batches) {}

  MatmulCall work;  // but for m and where it begins
  const MatmulOperand &a, &b, &out;
  const int batch_groups, b_batches;
  std::int64_t batches = 1, rows = 1;  // of out
  // In elements: from one row of a to the next, from one batch to the next, to where K begins.
  std::int64_t a_row = 0, a_batch_size = 0, a_from = 0;
  std::int64_t b_column = 0, b_batch_size = 0, b_from = 0;

  // Rows [begin, end) of out, counted through its batches, and these of its columns.
  COCONET_ONCE Status multiply(const Call& call, std::int64_t begin, std::int64_t end,
                               const Cut& columns) const {
    MatmulCall part = work;
    part.n = columns.count;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      const std::int64_t first = larger(0, begin - batch * rows);
      part.m = smaller(rows, end - batch * rows) - first;
      if (part.m <= 0) continue;
      const std::int64_t a_batch = batch_in(a.space, out.space, batch_groups, batch);
      const std::int64_t b_batch =
          b_batches > 0 ? batch_in(b.space, out.space, batch_groups, batch) : 0;
      const std::int64_t a_at = a_batch * a_batch_size + a_from + first * a_row;
      const std::int64_t b_at = b_batch * b_batch_size + b_from + columns.begin * b_column;
      const std::int64_t out_at = (batch * rows + first) * work.n + columns.begin + out.ring;
      part.a = static_cast<const char*>(a.data) + a_at * a.element_size;
      part.b = static_cast<const char*>(b.data) + b_at * b.element_size;
      part.out = static_cast<char*>(out.data) + out_at * out.element_size;
      const Status status = call.matmul(call.runtime, part);
      if (status != kOk) return status;
    }
    return kOk;
  }

  // As above, all columns, by the threads of the rank.
  COCONET_ONCE Status divide(const Call& call, std::int64_t begin, std::int64_t end) const {
    const double multiplications = static_cast<double>(end - begin) * static_cast<double>(work.n) *
                                   static_cast<double>(work.k);
    const int parts = parts_of(call, elements_of(multiplications));
    if (parts == 1) return multiply(call, begin, end, {0, work.n});
    const ProductGrid grid =
        batches > 1 ? ProductGrid{parts, 1} : product_grid(end - begin, work.n, parts);
    return in_parts(call, grid.rows * grid.columns, [&](int part) {
      const Cut mine = part_of(call, end - begin, grid.rows, part / grid.columns, kProductRows);
      const Cut columns = part_of(call, work.n, grid.columns, part % grid.columns, kProductColumns);
      if (mine.count == 0 || columns.count == 0) return kOk;
      return multiply(call, begin + mine.begin, begin + mine.begin + mine.count, columns);
    });
  }
};

// out = a b. Dims of b before its last two are batches, which a and out have too; else all dims of
// a before the last are rows, or, if a is given transposed (`ta`), all before its last two batches.
// Of K and of batches an operand may hold a part and the other all: the product is over what both
// hold. Only rows [begin, begin + count) of out (count < 0: all), counted through all its batches:
// a chunk of launch `launch`, during which nothing writes b; `b_constant`: constant_of b.
COCONET_ONCE inline Status matmul_piece(const Call& call, MatmulType type, MatmulType out_type,
                                        const MatmulOperand& a, const MatmulOperand& b,
                                        const MatmulOperand& out, bool ta = false, bool tb = false,
                                        std::int64_t begin = 0, std::int64_t count = -1,
                                        int launch = 0, std::uint64_t b_constant = 0) {
  if (a.space.empty_here || out.space.empty_here) return kOk;
  const int b_batches = b.space.groups - 2;
  const int batch_groups = ta ? a.space.groups - 2 : b_batches;
  const Space::Group& a_k = a.space.group[a.space.groups - (ta ? 2 : 1)];
  const Space::Group& b_k = b.space.group[b_batches + (tb ? 1 : 0)];
  const std::int64_t k_begin = larger(a_k.begin, b_k.begin);
  const std::int64_t k_end = smaller(a_k.begin + a_k.count, b_k.begin + b_k.count);
  PieceProduct product(a, b, out, batch_groups, b_batches);
  MatmulCall& work = product.work;
  work.type = type;
  work.out_type = out_type;
  work.k = larger(0, k_end - k_begin);
  work.n = b.space.group[b_batches + (tb ? 0 : 1)].count;
  work.ta = ta;
  work.tb = tb;
  std::int64_t &batches = product.batches, &rows = product.rows;
  for (int g = 0; g < batch_groups; ++g) batches *= out.space.group[g].count;
  for (int g = batch_groups; g + 1 < out.space.groups; ++g) rows *= out.space.group[g].count;
  const std::int64_t end = count < 0 ? batches * rows : begin + count;
  const bool part = begin > 0 || end < batches * rows;
  if (b_constant != 0) {
    work.b_id = b_constant;
  } else if (part && call.id != 0 && launch < kMostLaunches) {
    work.b_id = call.id * kMostLaunches + static_cast<std::uint64_t>(launch);
  }
  work.a_stride = ta ? rows : a_k.count;
  work.b_stride = tb ? b_k.count : work.n;
  work.out_stride = work.n;
  const std::int64_t a_from = work.k > 0 ? k_begin - a_k.begin : 0;
  const std::int64_t b_from = work.k > 0 ? k_begin - b_k.begin : 0;
  product.a_row = ta ? 1 : a_k.count;
  product.a_batch_size = rows * a_k.count;
  product.a_from = (ta ? a_from * rows : a_from) + a.ring;
  product.b_batch_size = b_k.count * work.n;
  product.b_from = tb ? b_from : b_from * work.n;
  product.b_column = tb ? b_k.count : 1;
  return product.divide(call, begin, end);
}

}  // namespace coconet::kernel
