// Programs that use the language in unusual ways, each compiled, run and verified.
#include <gmock/gmock.h>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;

// Data x tensor parallel, with the momentum cut by (*) within the columns that tp cuts.
TEST(CliProgram, ReductionsOfAFlatSliceWithinOthers) {
  const std::string text = R"(
mesh world(dp, tp)
dim N, H
program step(g: f32[N,H] local@dp sliced(1)@tp, state m: f32[N,H] sliced(1)@tp sliced(*)@dp) {
  rs     = reduce_scatter(g, +, (*))@dp
  m2     = update(m, 0.9 * m + rs)
  length = norm(m2)
  most   = all_reduce(max(m2), max)
  middle = mean(m2)
  whole  = norm(all_gather(m2)@dp)
  total  = all_reduce(sum(m2), +)
  return length, most, middle, whole, total
}
)";
  expect_verified(text, "--mesh dp=2,tp=3 --dim N=70,H=45");
  expect_verified(text, "--mesh dp=3,tp=2 --dim N=3,H=1");
  expect_verified(text, "--mesh dp=2,tp=2 --dim N=0,H=5");
}

// A scalar that is each rank's own, inside what is read of each peer; chunks of blocks.
TEST(CliProgram, FoldsTakeScalarsOfEachPeerAndSlicesOfAnyKindOverlap) {
  const char* const program = R"(
mesh world(tp)
dim N, H
program p(g: f32[N,H] local, b: f32[H], c: f32[] local) {
  y = g * c
  total = all_reduce(y, +)
  out = total + b
  return out
}
schedule flat for p {
  rs, ag = split(total, (*))
  body, gather = reorder(ag, [out])
  ar = fuse(rs, body, gather)
  overlap(y, ar)
}
schedule columns for p {
  rs, ag = split(total, (1))
  body, gather = reorder(ag, [out])
  ar = fuse(rs, body, gather)
  overlap(y, ar)
}
schedule prologue for p {
  rs, ag = split(total, (*))
  fuse(y, rs)
}
)";
  for (const char* schedule : {"flat --chunks 3", "columns", "prologue"}) {
    expect_verified(program, "--ranks 3 --dim N=1500,H=5 --schedule " + std::string(schedule));
  }
}

// What one operand holds a part of and the other all: of K, and of the batches.
TEST(CliProgram, AMatmulTakesThePartThatBothOperandsHold) {
  expect_verified(R"(
mesh world(tp)
dim A, B, H
program products(x: f32[B,H], xk: f32[B,H] sliced(1), w: f32[H,H], wk: f32[H,H] sliced(0),
                 b: f32[A,B,H], bk: f32[A,B,H] sliced(2), ba: f32[A,B,H] sliced(0),
                 v: f32[A,H,B], va: f32[A,H,B] sliced(0)) {
  right = all_reduce(matmul(x, wk), +)
  left = all_reduce(matmul(xk, w), +)
  batched = all_reduce(matmul(bk, v), +)
  first = matmul(ba, v)
  second = matmul(b, va)
  both = matmul(ba, va)
  return right, left, batched, first, second, both
}
)",
                  "--ranks 3 --dim A=4,B=5,H=7");
}

// Pieces that are no whole blocks of the tensor, of rows and of columns.
TEST(CliProgram, TensorWideReductionsOfAnySlice) {
  expect_verified(R"(
mesh world(dp)
dim A, N
program folds(x: f32[N] sliced(0), y: f32[A,N] sliced(1), z: f32[A,N] sliced(0..1),
              f: f32[A,N] sliced(*), l: f32[A,N] local) {
  a = all_reduce(sum(x), +)
  b = all_reduce(max(y), max)
  c = norm(z)
  d = mean(f)
  e = all_reduce(norm(l), max)
  return a, b, c, d, e
}
)",
                  "--ranks 3 --dim A=5,N=1500");
}

TEST(CliProgram, ReductionsOfEveryDimAndPlacement) {
  expect_verified(R"(
mesh world(dp)
dim N, M, K
program it(x: f16[N,M,K], y: f32[N,M,K] sliced(0), z: f32[N,M] sliced(1), i: i32[N,M] sliced(0..1),
           w: f32[N,M] sliced(*), q: bf16[N] local) {
  a = sum(x, [0]); b = sum(x, [1]); d = max(x, [0,1]); e = min(x, [1,2])
  g = all_reduce(sum(y, [0]), +); h = all_reduce(max(z, [1]), max)
  k = all_reduce(sum(i, [0,1]), +); m = norm(w) + max(w)
  o = sum(all_reduce(q, +)); p = mean(y, [0,1,2])
  return a, b, d, e, g, h, k, m, o, p
}
)",
                  "--ranks 3 --dim N=7,M=41,K=5");
}

TEST(CliProgram, IntegersBoolsAndEveryFold) {
  expect_verified(R"(
mesh world(dp)
dim N
program it(x: i32[N] local, y: i64[N], b: bool[N], f: f32[N], h: f16[N] local) {
  a = all_reduce(x, +) / 3; c = x / 0; d = y * y * y * y * 9223372036854775807
  e = cast(d, i32) + all_reduce(x, prod); g = where(f > 0 and not b, x, -x); k = f > 0.5 or b
  l = cast(f * 1e30, i64); m = all_reduce(h, max); n = all_reduce(h, prod); o = abs(x) + max(x, 3)
  p = 1 - f * 0; q = all_gather(reduce_scatter(h, +, (0))); r = broadcast(reduce(h, +, 1))
  return a, c, d, e, g, k, l, m, n, o, p, q, r
}
)",
                  "--ranks 3 --dim N=17");
}

TEST(CliProgram, StorageReadBeforeAndAfterItsUpdate) {
  expect_verified(R"(
mesh world(dp)
dim N, M
program it(state m: f32[N], state a: f32[N], p: f32[N], x: f32[N], unused: f32[M], scalar k: f32) {
  old = m * 1
  m2 = update(m, m + x)
  a2 = update(a, a)
  p2 = update(p, x + old)
  y = m2 * 2 + p2
  return old, m, y
}
)",
                  "--ranks 3 --dim N=1500,M=3 --scalar k=1");
}

TEST(CliProgram, AxesOfAMesh) {
  expect_verified(R"(
mesh world(dp, tp)
dim N
program it(x: f32[N] partial(+)@[dp,tp], y: f16[N] local@dp, c: f32[N] sliced(0)@[dp,tp],
           z: f16[N] local@tp sliced(0)@dp, w: f16[N] sliced(*)@[dp,tp]) {
  a = all_reduce(x, +)@[dp,tp] + all_gather(c)@[dp,tp]
  d = dropout(y, 0.5)
  e = all_reduce(d, +)@dp + all_gather(all_reduce(dropout(z, 0.25), +)@tp)@dp
  f = all_gather(dropout(w, 0.75))@[dp,tp]
  r = broadcast(reduce(y, +, 1)@dp * 2)@dp
  s = all_reduce(as_partial(r, +)@tp * 3, +)@tp
  t = all_gather(shard(s, (0))@dp + 1)@dp
  u = broadcast(root(t, 0)@tp)@tp
  return a, d, e, f, s, u
}
)",
                  "--mesh dp=3,tp=2 --dim N=4133");
}

// A later axis cuts what an earlier one left of several dims.
TEST(CliProgram, SlicesOfDimsThatAreCutAlready) {
  expect_verified(R"(
mesh world(dp, tp)
dim N, H
program it(x: f32[N,H] sliced(1)@tp sliced(*)@dp, y: f32[N,H] sliced(0)@dp sliced(0..1)@tp,
           z: f32[N,H,H] sliced(0)@tp sliced(0..1)@dp, b: f32[H], w: f32[H,H]) {
  a = x * 2
  c = all_gather(y + b)@tp
  d = all_gather(all_gather(x)@dp)@tp
  e = all_to_all(x, (*), 0)@dp
  f = all_reduce(sum(z, [0,1]), +)@[dp,tp]
  g = matmul(z, w)
  h = dropout(y, 0.5)
  return a, c, d, e, f, g, h
}
)",
                  "--mesh dp=2,tp=3 --dim N=70,H=90");
}

// Data by tensor parallel, nested slices of one dim, and collectives over both axes.
TEST(CliProgram, SchedulesOnTwoAxes) {
  const std::string program = R"(
mesh world(dp, tp)
dim N, H
dtype T = f16
program it(g: T[N,H] local@dp sliced(1)@tp, p: f32[N,H] sliced(1)@tp,
           state m: f32[N,H] sliced(1)@tp, x: T[N,H] sliced(1)@tp sliced(0)@dp,
           w: T[H,H] sliced(0)@tp, q: T[N,H] partial(+)@[dp,tp], b: T[H]) {
  total = all_reduce(cast(g, f32), +)@dp
  m2 = update(m, 0.9 * m + total / size(dp))
  p2 = update(p, p - 0.1 * m2)
  layer = matmul(x, w)
  sum = all_reduce(layer, +)@tp
  act = relu(sum + b)
  both = all_reduce(q, +)@[dp,tp]
  out = dropout(both * b, 0.25)
  return p2, act, out
}
schedule sharded for it {
  rs, ag = split(total)
  body, gm, gp = reorder(ag, [m2, p2])
  as_slice(m) dead(gm)
  fuse(rs, body, gp)
  rs2, ag2 = split(both, (0))
  body2, g2 = reorder(ag2, [out])
  fuse(rs2, body2, g2)
  rs3, ag3 = split(sum, (0))
  body3, g3 = reorder(ag3, [act])
  ar3 = fuse(rs3, body3, g3)
  overlap(layer, ar3)
}
)";
  for (const char* mesh : {"dp=2,tp=2", "dp=3,tp=2", "dp=1,tp=4"}) {
    expect_verified(program, "--dim N=13,H=190 --schedule sharded --mesh " + std::string(mesh));
  }
}

// Another order of adding floating numbers: judged by each operation's bound, not by the bits.
TEST(CliProgram, AHierarchicalSplitReassociates) {
  const TemporaryFolder folder;
  const std::string file = folder.path("it.coco");
  for (const char* dtype : {"f32", "f16", "i32"}) {
    test::write_text(file, "mesh world(dp, tp)\ndim N\nprogram it(x: " + std::string(dtype) +
                               "[N] partial(+)@[dp,tp]) { total = all_reduce(x, +)@[dp,tp] out = "
                               "total + total return out }\nschedule s for it { rs, ar, ag = "
                               "split(total, hierarchical) body, gather = reorder(ag, [out]) "
                               "fuse(body, gather) }");
    const bool exact = std::string(dtype) == "i32";
    const ToolResult check = run_tool("check " + file);
    EXPECT_THAT(check.out, HasSubstr(exact ? "exact" : "reassociates"));
    for (const char* mesh : {"dp=2,tp=2", "dp=3,tp=2", "dp=2,tp=3"}) {
      const ToolResult result =
          run_tool("run " + file + " --verify --dim N=2500 --schedule s " + "--mesh " + mesh);
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      EXPECT_THAT(result.out, HasSubstr("within bound: yes")) << dtype;
      const char* equal = exact ? "bit-equal to unscheduled: yes" : "the schedule reassociates";
      EXPECT_THAT(result.out, HasSubstr(equal));
    }
  }
}

// What the fused kernel computes of each peer's piece is nothing that a rank could keep.
TEST(CliProgram, AHierarchicalSplitWithComputationBeforeIsVerified) {
  const TemporaryFolder folder;
  const std::string file = folder.path("it.coco");
  test::write_text(file, R"(
mesh world(dp, tp)
dim N
program it(g: f16[N] local@[dp,tp]) {
  total = all_reduce(cast(g, f32) * 2, +)@[dp,tp]
  return total
}
schedule s for it {
  rs, ar, ag = split(total, hierarchical)
  fuse(rs)
})");
  const ToolResult result =
      run_tool("run " + file + " --verify --dim N=2500 --schedule s --mesh dp=2,tp=2");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("within bound: yes"));
}

TEST(CliProgram, ShiftsAlongAnAxis) {
  const std::string program = R"(
mesh world(pp, tp)
dim B, N
dtype T = f32
program it(x: T[B,N], y: T[B,N] local@pp partial(+)@tp, s: T[N] local@pp sliced(*)@tp,
           c: i64[] local@pp, k: bool[N], r: T[N] rooted(1)@tp) {
  a = shift(x * 2, pp, 1)
  b = all_reduce(shift(y, pp, -1), +)@tp
  e = all_gather(shift(s, pp, 1, wrap))@tp
  d = shift(c + 1, pp, -3, wrap)
  f = shift(k, pp, 2)
  g = broadcast(shift(r, pp, 0))@tp
  h = shift(shift(x, tp, 1), pp, 1)
  return a, b, d, e, f, g, h
}
schedule s for it { fuse(a) }
)";
  expect_verified(program, "--mesh pp=3,tp=2 --dim B=5,N=2051");
  expect_verified(program, "--mesh pp=2,tp=3 --dim B=1,N=0 --dtype T=bf16 --schedule s");
}

TEST(CliProgram, ExchangesOfEverySlice) {
  const std::string program = R"(
mesh world(dp, tp)
dim A, B, N
dtype T = f32
program it(x: T[A,B,N] sliced(0)@tp, y: T[A,B,N] sliced(*)@tp,
           z: T[A,B,N] sliced(0)@dp sliced(0)@tp, k: bool[A,B,N] sliced(0..1)@tp, l: T[N] local@tp,
           s: i32[] local@dp, b: T[N]) {
  a = all_to_all(x * 2 + b, 0, 2)@tp
  c = all_to_all(y, (*), (0..1))@tp
  d = all_to_all(z, 0, 1)@tp
  e = all_to_all(z, (0), (*))@[dp,tp]
  f = all_to_all(k, (0..1), 2)@tp
  g = all_to_all(stack(l), 0, 1)@tp
  h = all_gather(stack(s))@dp * size(dp)
  i = stack(l) + b
  j = sum(all_to_all(a, 2, 1), [2])
  return a, c, d, e, f, g, h, i, j
}
schedule s for it { fuse(a) }
)";
  expect_verified(program, "--mesh dp=3,tp=2 --dim A=7,B=3,N=130");
  expect_verified(program, "--mesh dp=1,tp=5 --dim A=2,B=1,N=0 --dtype T=f16");
  expect_verified(program, "--mesh dp=2,tp=4 --dim A=3,B=1,N=2 --dtype T=bf16 --schedule s");
}

TEST(CliProgram, ALongOneFusedAndOverlapped) {
  expect_verified(R"(
mesh world(tp)
dim B, S, H, K
dtype T = f16
program it(x: T[B,S,H] sliced(2), w: T[H,K] sliced(0), b: T[K], r: T[B,S,K], g: T[K], be: T[K],
           state m: T[B,S,K], scalar rate: f32 = 0.2) {
  l = matmul(x, w)
  t = all_reduce(l, +)
  d = dropout(t + b, rate)
  o = d + r
  n = layer_norm(o, g, be, 1e-5)
  q = gelu(n) * sigmoid(o) + relu(d)
  z = q - max(q, [2])
  m2 = update(m, m * 0.5 + z)
  e = exp(z)
  sm = e / sum(e, [2])
  fin = sm * norm(sm) + m2
  return fin, z
}
schedule s for it {
  kernel = fuse(d, o, n, q, z, m2, e, sm)
  overlap(l, t, kernel)
}
)",
                  "--ranks 3 --dim B=2,S=5,H=7,K=33 --schedule s");
}

// Each result has a tile of its own: together more than a stack should hold.
TEST(CliProgram, OneKernelOfManyResults) {
  std::string names, statements, gathers;
  for (int i = 0; i < 70; ++i) {
    const std::string name = "y" + std::to_string(i);
    names += (i > 0 ? ", " : "") + name;
    gathers += ", g" + name;
    statements += "  " + name + " = t + " + std::to_string(i) + ".0\n";
  }
  const std::string program =
      "mesh world(dp)\ndim N\nprogram many(x: f32[N] local) {\n  t = all_reduce(x, +)\n" +
      statements + "  return " + names + "\n}\nschedule s for many {\n  rs, ag = split(t)\n  body" +
      gathers + " = reorder(ag, [" + names + "])\n  fuse(rs, body" + gathers + ")\n}\n";
  expect_verified(program, "--ranks 2 --dim N=2500 --schedule s");
  const TemporaryFolder folder;
  test::write_text(folder.path("many.coco"), program);
  const std::string source =
      run_tool("show " + folder.path("many.coco") + " --schedule s --as cpp").out;
  EXPECT_THAT(source, testing::HasSubstr("HeapScratch<float> to_gy69(kTile);"));
}

}  // namespace
}  // namespace coconet::tests
