// What a plan refuses when its sizes are known.
#include <gtest/gtest.h>

#include "coconet/graph/check_sizes.h"
#include "coconet/plan/bind.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"
#include "tests/support/planned.h"

namespace coconet::plan {

using fixture::expect_refused;
namespace {

const Sizes kSizes = {{"B", 1}, {"S", 2}, {"H", 2}};

TEST(BindRefusal, OfMeshesAndDims) {
  const Plan plan = planned(kAttention, kAttentionOverlapped, kSizes, {2}).plan;
  expect_refused([&] { bind(plan, kSizes, {{2, 2}}); }, {"found 2 mesh sizes", "needs 1"});
  expect_refused([&] { bind(plan, kSizes, {{0}}); }, {"axis tp has size 0", "at least one rank"});
  expect_refused([&] { bind(plan, kSizes, {{257}}); }, {"257 ranks", "at most 256"});
  expect_refused([&] { bind(plan, {{"B", 1}, {"S", 2}}, {{2}}); }, {"dim H has no size"});
  expect_refused(
      [&] {
        bind(plan, {{"B", 1}, {"S", 2}, {"H", -1}}, {{2}});
      },
      {"dim H must not be negative; found -1"});
  expect_refused([&] { bind(plan, kSizes, {{2}}, {-1}); }, {"found -1 chunks", "1 or more"});
  expect_refused(
      [&] {
        check_chunks(plan, {1, 1});
      },
      {"numbers of chunks found: 2", "overlapped groups of this schedule: pipeline"});
  bind(plan, kSizes, {{256}});
}

TEST(BindRefusal, OfSizesThatDoNotFit) {
  const char* const program = R"(
mesh world(tp)
dim N, M, P, T
require N % (2 * size(tp)) == 0 and N > M
require T == 0 or M / T < 5
program fits(x: f32[N,M], y: f32[P,M]) {
  a = narrow(x, 1, P, 2)
  b = concat(x, y, 0, size=T)
  return a, b
}
)";
  const Sizes good = {{"N", 4}, {"M", 3}, {"P", 1}, {"T", 5}};
  const Plan plan = planned(program, "", good, {2}).plan;
  const auto refused = [&](const std::string& dim, int size, int ranks, const std::string& words) {
    Sizes sizes = good;
    sizes[dim] = size;
    expect_refused([&] { bind(plan, sizes, {{ranks}}); }, {words});
  };
  refused("N", 4, 3,
          "N % (2 * size(tp)) == 0 and N > M, which does not hold here: M = 3, N = 4, "
          "size(tp) = 3; give sizes that meet it");
  refused("M", 4, 2, "M = 4, N = 4");
  refused("P", 2, 2, "narrow takes 2 elements from P = 2 on of dim 1, which has M = 3");
  refused("T", 6, 2, "concat joins N = 4 + P = 1 along dim 0, whose size is to be T = 6");
  refused("T", 0, 2, "concat joins");
}

TEST(BindRefusal, OfRequirementsBeyond63Bits) {
  for (const char* condition : {"9223372036854775807 * N / N > 0", "9223372036854775807 + N > 0",
                                "(0 - 9223372036854775807 - N / N) / (N - N - 1) > 0"}) {
    const std::string program = std::string("mesh world(tp)\ndim N\nrequire ") + condition +
                                "\nprogram p(x: f32[N]) {\n  y = x + 1.0\n  return y\n}\n";
    const Graph graph = parse_file(program).programs[0];
    expect_refused(
        [&] {
          check_sizes(graph, {{"N", 3}}, {{1}});
        },
        {"the program requires ", "whose numbers exceed 63 bits"});
  }
}

TEST(BindRefusal, OfARootOutsideItsAxis) {
  const char* const program = R"(
mesh world(tp)
dim N
program rooted(x: f32[N] local) {
  y = reduce(x, +, 2)
  return y
}
)";
  const Plan plan = planned(program, "", {{"N", 2}}, {3}).plan;
  expect_refused(
      [&] {
        bind(plan, {{"N", 2}}, {{2}});
      },
      {"root 2 is no rank of axis tp", "2 ranks", "numbered from 0"});
}

}  // namespace
}  // namespace coconet::plan
