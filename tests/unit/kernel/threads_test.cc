// A launch's work among threads: what they visit together is what one thread visits, run by run.
#include "coconet/kernel/cpu/threads.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "coconet/kernel/cpu/matmul.h"
#include "coconet/kernel/cpu/move.h"

namespace coconet::kernel {
namespace {

// Performs parts one after the other, the last first.
Status last_first(void*, int parts, Status (*work)(const void*, int), const void* context) {
  Status status = kOk;
  for (int part = parts - 1; part >= 0; --part) {
    if (work(context, part) != kOk) status = kFailed;
  }
  return status;
}

struct Visited {
  std::int64_t width = 0;
  int launches = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // global index and count
};

Call call_of(int threads, std::int64_t grain, void* runtime) {
  Call call;
  call.threads = threads;
  call.grain = grain;
  call.divide = &last_first;
  call.runtime = runtime;
  return call;
}

// The runs in their order.
Visited visited(const Space& space, RunCut where, std::int64_t width, int threads,
                std::int64_t grain) {
  Visited out{width, 0, {}};
  const Call call = call_of(threads, grain, &out);
  const Status status =
      divided(Ranks(call, 0), space, where, [](const Ranks& ranks, const Space& part) {
        Visited& to = *static_cast<Visited*>(ranks.call.runtime);
        ++to.launches;
        for_each_run(part, to.width,
                     [&](const Run& run) { to.runs.emplace_back(run.global, run.count); });
        return kOk;
      });
  EXPECT_EQ(status, kOk);
  std::sort(out.runs.begin(), out.runs.end());
  return out;
}

// Pieces of a tensor of 3 x 5 x 700: whole, of rows, of columns, of blocks, nested.
std::vector<Space> pieces() {
  const std::int64_t sizes[] = {3, 5, 700};
  std::vector<Space> out(7, whole_space(sizes, 3));
  cut_space(out[1], 1, 1, 1, 2, 1);
  cut_space(out[2], 0, 1, 1, 2, 1);
  cut_space(out[3], 2, 2, 1, 3, 1);
  cut_space(out[4], 0, 2, kBlockElements, 3, 1);
  cut_space(out[5], 1, 1, 1, 2, 0);
  cut_space(out[5], 0, 1, 1, 2, 1);
  cut_space(out[6], 1, 1, 1, 2, 0);
  cut_space(out[6], 0, 2, 1, 2, 1);
  return out;
}

TEST(Threads, VisitWholeRunsTogether) {
  const std::vector<Space> all = pieces();
  for (std::size_t p = 0; p < all.size(); ++p) {
    for (const RunCut where : {RunCut::at_rows, RunCut::at_blocks}) {
      const std::int64_t width = where == RunCut::at_rows ? 700 : kBlockElements;
      const Visited want = visited(all[p], where, width, 1, 1);
      EXPECT_EQ(want.launches, 1);
      for (const int threads : {2, 3, 5, 16}) {
        for (const std::int64_t grain : {1, 700, 3000}) {
          const Visited got = visited(all[p], where, width, threads, grain);
          EXPECT_EQ(got.runs, want.runs) << "piece " << p << ", " << threads << " threads";
          if (grain == 1 && threads == 2 && want.runs.size() > 1) {
            EXPECT_EQ(got.launches, 2);
          }
        }
      }
    }
  }
}

TEST(Threads, VisitEachElementOnceWhereRunsMayBeCut) {
  for (const Space& piece : pieces()) {
    std::vector<std::int64_t> want;
    for (std::int64_t i = 0; i < piece.count(); ++i) want.push_back(global_of(piece, i));
    for (const int threads : {1, 2, 3, 5}) {
      for (const std::int64_t grain : {std::int64_t{1}, std::int64_t{100}, kThreadGrain}) {
        std::vector<std::int64_t> got;
        for (const auto& [global, count] :
             visited(piece, RunCut::anywhere, 0, threads, grain).runs) {
          for (std::int64_t i = 0; i < count; ++i) got.push_back(global + i);
        }
        EXPECT_EQ(got, want);
      }
    }
  }
}

TEST(Threads, ALittleWorkIsOneThreads) {
  const std::int64_t sizes[] = {10000};
  const Space space = whole_space(sizes, 1);
  EXPECT_EQ(visited(space, RunCut::anywhere, 0, 8, 4096).launches, 2);
  EXPECT_EQ(visited(space, RunCut::anywhere, 0, 8, 5001).launches, 1);
  const std::int64_t none[] = {3, 0};
  EXPECT_EQ(visited(whole_space(none, 2), RunCut::at_rows, 0, 8, 1).launches, 1);
}

TEST(Threads, AFailedPartFailsTheLaunch) {
  const std::int64_t sizes[] = {10};
  for (int failing = 0; failing < 3; ++failing) {
    const Call call = call_of(3, 1, &failing);
    EXPECT_EQ(divided(Ranks(call, 0), whole_space(sizes, 1), RunCut::anywhere,
                      [](const Ranks& ranks, const Space& part) {
                        const int failed = *static_cast<const int*>(ranks.call.runtime);
                        return part.from / 4 == failed ? kFailed : kOk;
                      }),
              kFailed);
  }
}

TEST(Threads, MoveAsOneThreadMoves) {
  const std::int64_t in_sizes[] = {4, 3, 7}, turned_sizes[] = {7, 4, 3}, part_sizes[] = {4, 2, 7};
  const Space in = whole_space(in_sizes, 3), turned = whole_space(turned_sizes, 3);
  const Space part = whole_space(part_sizes, 3);
  std::vector<float> from(84), want[3], got[3];
  std::iota(from.begin(), from.end(), 1.0f);
  for (const int threads : {1, 2, 3, 5, 40}) {
    const Call call = call_of(threads, 1, nullptr);
    auto& to = threads == 1 ? want : got;
    for (auto& each : to) each.assign(84, 0.0f);
    EXPECT_EQ(move_held(call, in, from.data(), to[0].data()), kOk);
    EXPECT_EQ(move_transposed(call, {2, 0, 1}, in, from.data(), turned, to[1].data()), kOk);
    EXPECT_EQ(move_along(call, 1, 2, in, 1, from.data(), part, 0, to[2].data()), kOk);
    if (threads > 1) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(got[i], want[i]) << threads;
    }
  }
  EXPECT_EQ(want[0], from);
  EXPECT_EQ(want[1][1 * 12 + 2 * 3 + 1], from[2 * 21 + 1 * 7 + 1]);
  EXPECT_EQ(want[2][3 * 14 + 1 * 7 + 5], from[3 * 21 + 2 * 7 + 5]);
}

// Close to square, as each packs its rows and its columns.
TEST(ProductGrid, IsOfThreadsThatHaveWork) {
  const auto of = [](std::int64_t rows, std::int64_t columns, int parts) {
    const ProductGrid grid = product_grid(rows, columns, parts);
    EXPECT_LE(grid.rows * grid.columns, parts);
    return std::pair(grid.rows, grid.columns);
  };
  EXPECT_EQ(of(1024, 3072, 2), std::pair(1, 2));
  EXPECT_EQ(of(3072, 1024, 2), std::pair(2, 1));
  EXPECT_EQ(of(4096, 4096, 16), std::pair(4, 4));
  EXPECT_EQ(of(32, 4096, 8), std::pair(1, 8));
  EXPECT_EQ(of(4096, 64, 7), std::pair(7, 1));
}

struct Products {
  std::vector<float> a, b;
  std::int64_t m = 0, n = 0, k = 0;
  int calls = 0;
};

// The plain product of what a call names.
Status multiply(void* runtime, const MatmulCall& call) {
  ++static_cast<Products*>(runtime)->calls;
  const auto* a = static_cast<const float*>(call.a);
  const auto* b = static_cast<const float*>(call.b);
  for (std::int64_t i = 0; i < call.m; ++i) {
    for (std::int64_t j = 0; j < call.n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < call.k; ++k) {
        sum += a[call.ta ? k * call.a_stride + i : i * call.a_stride + k] *
               b[call.tb ? j * call.b_stride + k : k * call.b_stride + j];
      }
      static_cast<float*>(call.out)[i * call.out_stride + j] += sum;
    }
  }
  return kOk;
}

TEST(Threads, MultiplyAsOneThreadDoes) {
  const std::int64_t m = 37, n = 130, k = 11, batches = 3;
  std::vector<float> a(batches * m * k), b(batches * k * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7 % 13) - 6;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 5 % 11) - 5;
  for (int kind = 0; kind < 8; ++kind) {
    const bool ta = kind & 1, tb = kind & 2, batched = kind & 4;
    const std::int64_t a_sizes[] = {batches, ta ? k : m, ta ? m : k};
    const std::int64_t b_sizes[] = {batches, tb ? n : k, tb ? k : n}, out_sizes[] = {batches, m, n};
    const int skip = batched ? 0 : 1;
    const Space in_a = whole_space(a_sizes + skip, 3 - skip);
    const Space in_b = whole_space(b_sizes + skip, 3 - skip);
    const Space in_out = whole_space(out_sizes + skip, 3 - skip);
    std::vector<float> want;
    for (const int threads : {1, 2, 3, 5, 8}) {
      for (const std::int64_t grain : {1, 100}) {
        Products products;
        Call call = call_of(threads, grain, &products);
        call.matmul = &multiply;
        std::vector<float> out(batches * m * n, 0.0f);
        EXPECT_EQ(matmul_piece(call, MatmulType::f32, MatmulType::f32, {in_a, a.data(), 4},
                               {in_b, b.data(), 4}, {in_out, out.data(), 4}, ta, tb),
                  kOk);
        if (threads == 1) want = out;
        if (threads > 1) {
          EXPECT_GT(products.calls, 1);
        }
        EXPECT_EQ(out, want) << "kind " << kind << ", " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace coconet::kernel
