// Sizes at which libraries of this field went wrong: lengths that no power of two divides, byte
// counts beyond 2^31 and 2^32, whose products or offsets were kept in 32 bits.
#include <gmock/gmock.h>

#include <cstdint>

#include "coconet/execute/run.h"
#include "coconet/io/npy.h"
#include "coconet/plan/bind.h"
#include "tests/support/files.h"
#include "tests/support/planned.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

// `wrong` of the program is a zero of i64 on processes.
void expect_nothing_wrong(const std::string& program, const std::string& options) {
  const test::TemporaryFolder folder;
  test::write_text(folder.path("it.coco"), program);
  write_npy(folder.path("zero.npy"), TensorData::zeros(DTypeKind::i64, {}));
  const ToolResult result =
      run_tool("run " + folder.path("it.coco") + " --want wrong=" + folder.path("zero.npy") +
               " --bound 0 " + options);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

// 10,556,587 elements on 8 ranks, whole and in slices: sums that are known without being summed.
TEST(FieldSizes, AnOddNumberOfElementsOnEightRanks) {
  const std::string program = R"(
mesh world(dp)
dim N
program p(w: i32[N], scalar zero: i64 = 0) {
  each  = shift(w, dp, 0)
  total = all_reduce(each, +)
  once  = all_reduce(as_partial(w, +), +)
  wrong = sum(where(total == w * size(dp) and once == w, zero, 1))
  return wrong
}
schedule s for p {
  rs, ag   = split(total, (0))
  fuse(rs, ag)
  rs2, ag2 = split(once)
  fuse(rs2, ag2)
}
)";
  for (const std::string schedule : {"", " --schedule s"}) {
    expect_nothing_wrong(program, "--ranks 8 --dim N=10556587" + schedule);
  }
}

TEST(FieldSizes, PlansCountBytesBeyond32Bits) {
  const Planned sample = planned(R"(
mesh world(dp)
dim N, M
program p(g: f16[N,M] local, q: f32[N,M]) {
  total = all_reduce(cast(g, f32), +)
  out = q - total
  return out
}
)",
                                 "rs, ag = split(total) body, gather = reorder(ag, [out]) "
                                 "fuse(rs, body, gather)",
                                 {{"N", 1}, {"M", 1}}, {3});
  for (const std::int64_t n :
       {std::int64_t{0x7fffffff}, std::int64_t{0x80000007}, std::int64_t{0x100000009}}) {
    for (const std::int64_t m : {1, 10}) {
      const plan::BoundPlan bound = plan::bind(sample.plan, {{"N", n}, {"M", m}}, {{3}});
      const auto bytes = [&](const char* name) {
        return bound.buffers[sample.plan.parameter(name).index].bytes;
      };
      EXPECT_EQ(bytes("g"), 2 * n * m);
      EXPECT_EQ(bytes("q"), 4 * n * m);
      const TensorType flat{
          f32, {Dim::named("N"), Dim::named("M")}, Layout(1).with(0, Sliced{Slice::all()})};
      std::int64_t sum = 0;
      for (int rank = 0; rank < 3; ++rank) sum += bound.piece(flat, rank).count();
      EXPECT_EQ(sum, n * m);
      interp::Setting setting = sample.setting;
      setting.sizes["N"] = n;
      setting.sizes["M"] = m;
      EXPECT_GT(execute::bytes_between_ranks(sample.plan, setting), n * m);
    }
  }
}

// N * N bytes on each of two ranks, gathered and counted by rows: 4 GiB and more. Takes 9 GB and
// minutes; run with --gtest_also_run_disabled_tests.
TEST(FieldSizes, DISABLED_ATensorOfMoreThan32BitsOfBytes) {
  expect_nothing_wrong(R"(
mesh world(dp)
dim N, M
program p(a: bool[1,M], b: bool[N,1] sliced(0), scalar zero: i64 = 0) {
  both  = b and a
  whole = all_gather(both)
  rows  = sum(where(whole, zero + 1, 0), [1])
  ones  = sum(where(a, zero + 1, 0))
  wrong = sum(where(rows == where(all_gather(b), ones, 0), zero, 1))
  return wrong
}
schedule s for p {
  fuse(both, whole)
  fuse(rows)
}
)",
                       "--ranks 2 --dim N=65537,M=65537 --schedule s");
}

}  // namespace
}  // namespace coconet::tests
