// Faults of numbers that were seen in collectives and compilers of this field, each with its right
// value by interpreter, plan executor and generated code. What is held elsewhere:
//
//   fault                                                held by
//   16-bit folds that round at each rank                 unit/interp/communication_test.cc
//   folds in an order that depends on arrival            unit/kernel/lanes_test.cc,
//   communication_test.cc min and max of NaN as the processor has them
//   unit/kernel/operators_test.cc integer sums whose overflow is undefined
//   unit/kernel/operators_test.cc, cli_program_test.cc rows of a product that lie apart in memory
//   unit/runtime/matmul_test.cc
#include <gmock/gmock.h>

#include <cmath>

#include "coconet/io/npy.h"
#include "tests/support/everywhere.h"
#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsNan;
using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string in_dtype(const std::string& dtype, const std::string& program) {
  return "mesh world(dp)\ndim N, M\ndtype T = " + dtype + "\n" + program;
}

// NaN dropped by max and min: `a < b ? b : a` keeps it on some ranks and loses it on others.
TEST(FieldNumbers, NanIsTheMaximumAndTheMinimumOnEveryRank) {
  for (const char* dtype : {"f16", "bf16", "f32", "f64"}) {
    for (const std::string steps : {"", "rs, ag = split(a) rs2, ag2 = split(b, (0))"}) {
      const Everywhere ran = run_everywhere(
          in_dtype(dtype, R"(
program p(x: T[N] local, y: T[N] sliced(0)) {
  a = all_reduce(x, max)
  b = all_reduce(x, min)
  c = all_reduce(max(y), max)
  d = all_reduce(min(y), min)
  return a, b, c, d
}
)"),
          steps, {{"N", 4}}, {3},
          {{"x", {1, 2, 3, 4, 5, kNan, 7, 8, 9, 10, 11, kNan}}, {"y", {1, 2, kNan, 4}}});
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_THAT(ran.on_rank("a", rank), ElementsAre(9, IsNan(), 11, IsNan())) << dtype;
        EXPECT_THAT(ran.on_rank("b", rank), ElementsAre(1, IsNan(), 3, IsNan())) << dtype;
        EXPECT_THAT(ran.on_rank("c", rank), ElementsAre(IsNan()));
        EXPECT_THAT(ran.on_rank("d", rank), ElementsAre(IsNan()));
      }
    }
  }
}

// Sums whose value depends on the rank, the algorithm or the arrival: 1e8 + 1 - 1e8 in f32 is 0
// from the left, and 0 everywhere, whole or in slices of any kind.
TEST(FieldNumbers, OneSumHasTheSameBitsOnAllRanks) {
  const std::string program = R"(
program p(x: T[N] local) {
  total = all_reduce(x, +)
  out = total * 1
  return out
}
)";
  for (const std::string steps :
       {"", "rs, ag = split(total) body, gather = reorder(ag, [out]) fuse(rs, body, gather)",
        "rs, ag = split(total, (0)) body, gather = reorder(ag, [out])",
        "r, b = split(total, reduce_broadcast)"}) {
    const Everywhere ran = run_everywhere(in_dtype("f32", program), steps, {{"N", 3}}, {3},
                                          {{"x", {1e8, 1e8, 1, 1, -1e8, 1e8, -1e8, 1, -1e8}}});
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(ran.on_rank("out", rank), ElementsAre(0, 1, 0)) << steps;
    }
  }
}

// 16-bit sums kept in 16 bits: in bf16 1 + 2^-8 is 1, so 256 addends are lost one by one.
TEST(FieldNumbers, SmallAddendsOfABf16SumAreNotLost) {
  Values row(257, 0x1p-8);
  row[0] = 1;
  const Everywhere ran =
      run_everywhere(in_dtype("bf16", R"(
program p(x: T[1,N], y: T[N] sliced(0), z: T[M] local) {
  a = sum(x, [1])
  b = all_reduce(sum(y), +)
  c = sum(shard(reshape(x, [N]), (*)))
  d = all_reduce(z, +)
  return a, b, c, d
}
)"),
                     "", {{"N", 257}, {"M", 1}}, {5},
                     {{"x", row}, {"y", row}, {"z", {1, 0x1p-9, 0x1p-9, 0x1p-9, 0x1p-9}}});
  for (const char* sum : {"a", "b", "c"}) EXPECT_THAT(ran.global(sum), ElementsAre(2)) << sum;
  EXPECT_THAT(ran.global("d"), ElementsAre(1 + 0x1p-7));
}

// Means of means: pieces of other sizes do not weigh alike. arange(12) in 3 rows of 4 on 2 ranks.
TEST(FieldNumbers, TheMeanOfUnevenPiecesIsOfTheElements) {
  Values x(12);
  for (int i = 0; i < 12; ++i) x[i] = i;
  for (const char* slice : {"(0)", "(1)", "(0..1)", "(*)"}) {
    const Everywhere ran =
        run_everywhere(in_dtype("f32", "program p(x: T[N,M] sliced" + std::string(slice) +
                                           ") {\n  m = mean(x)\n  s = norm(x)\n  return m, s\n}\n"),
                       "", {{"N", 3}, {"M", 4}}, {2}, {{"x", x}});
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_THAT(ran.on_rank("m", rank), ElementsAre(5.5)) << slice;
      EXPECT_THAT(ran.on_rank("s", rank), ElementsAre(std::sqrt(506.0f))) << slice;
    }
  }
}

// A non-contiguous view that is read as if it were dense: columns of a table, a transposed table,
// a file in Fortran's order.
TEST(FieldNumbers, ViewsOfOtherStridesAreReadRight) {
  const std::string program = R"(
program p(x: f32[N,M] local) {
  a = all_reduce(transpose(x, [1,0]), +)
  b = all_reduce(narrow(x, 1, 1, 2), +)
  c = all_gather(reduce_scatter(transpose(x, [1,0]), +, (0)))
  d = transpose(reshape(transpose(all_reduce(x, +), [1,0]), [M*N]), [0])
  return a, b, c, d
}
)";
  const Everywhere ran =
      run_everywhere("mesh world(dp)\ndim N, M\n" + program, "", {{"N", 2}, {"M", 3}}, {2},
                     {{"x", {0, 1, 2, 3, 4, 5, 60, 50, 40, 30, 20, 10}}});
  EXPECT_THAT(ran.on_rank("a", 1), ElementsAre(60, 33, 51, 24, 42, 15));
  EXPECT_THAT(ran.on_rank("b", 0), ElementsAre(51, 42, 24, 15));
  EXPECT_THAT(ran.on_rank("c", 0), ElementsAre(60, 33, 51, 24, 42, 15));
  EXPECT_THAT(ran.on_rank("d", 1), ElementsAre(60, 33, 51, 24, 42, 15));
}

TEST(FieldNumbers, AFileInFortransOrderIsReadRight) {
  const TemporaryFolder folder;
  test::write_text(folder.path("it.coco"),
                   "mesh world(dp)\ndim N, M\nprogram p(x: f64[N,M] sliced(1)) {\n  y = "
                   "all_gather(x + 0)\n  return y\n}\n");
  std::string header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }";
  header += std::string(127 - 10 - header.size(), ' ') + "\n";
  std::string file = "\x93NUMPY";
  file += std::string("\x01\x00", 2) + static_cast<char>(header.size()) + '\0' + header;
  for (const double value : {0.0, 3.0, 1.0, 4.0, 2.0, 5.0}) {
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  test::write_text(folder.path("x.npy"), file);
  const ToolResult result =
      run_tool("run " + folder.path("it.coco") + " --ranks 2 --in x=" + folder.path("x.npy") +
               " --out " + folder.path("out"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const TensorData y = read_npy(folder.path("out") + "/y.npy");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.value(i), i);
}

}  // namespace
}  // namespace coconet::tests
