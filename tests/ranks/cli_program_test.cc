// Programs that use the language in unusual ways, each compiled, run and verified.
#include <gmock/gmock.h>

#include "tests/ranks/tool.h"
#include "tests/support/files.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void expect_verified(const std::string& program, const std::string& options) {
  const TemporaryFolder folder;
  test::write_text(folder.path("it.coco"), program);
  const ToolResult result = run_tool("run " + folder.path("it.coco") + " --verify " + options);
  EXPECT_EQ(result.exit_code, 0) << program << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("bit-equal to unscheduled: yes"), Not(HasSubstr(": no"))))
      << program;
}

// Words of C++, of its headers, and of generated code itself.
TEST(CliProgram, NamesMayBeAnyWords) {
  expect_verified(R"(
mesh ranks(call)
dim class, EOF, tick, Call, N'
dtype auto = f16
program int(double: auto[class,EOF] sliced(0), struct: f32[EOF], NULL: f32[N',Call] sliced(0),
            run: f32[Call,tick], i: f32[tick] local, scalar float: f32 = 0.5, state _x: f32[tick],
            scalar nullptr: f32 = 2, scalar kOk: f32 = 3, scalar index_in: f32 = 4) {
  template = cast(double, f32) + struct * nullptr
  while = template * float / kOk
  x_i = matmul(NULL, run)
  at_x = all_reduce(i, +)
  space = at_x * at_x + index_in * norm(at_x)
  _x' = update(_x, _x + space)
  for_each_tile = sum(while, [1])
  x = dropout(space, 0.5)
  std = max(x, space) * exp(x) - abs(space)
  return while, x_i, at_x, for_each_tile, std, template
}
)",
                  "--ranks 3 --dim class=5,EOF=3,tick=7,Call=4,N'=6");
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

}  // namespace
}  // namespace coconet::tests
