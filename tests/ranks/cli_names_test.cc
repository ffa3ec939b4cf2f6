// Programs whose names mean something to C++, compiled, run and verified.
#include <gtest/gtest.h>

#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

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

// Values beside the words that generated code makes of them and of their buffers.
TEST(CliProgram, NamesOfValuesMayBeAnyWords) {
  expect_verified(R"(
mesh world(tp)
dim N
program p(x: f32[N] sliced(0), y_i: f32[N] sliced(0)) {
  A_B = x + 1.0
  NULL = A_B * y_i
  x_i = NULL + A_B
  A_B_i = x_i * 2
  to_y = A_B_i - NULL
  y = to_y * x
  return A_B, NULL, x_i, A_B_i, y
}
)",
                  "--ranks 2 --dim N=5");
}

// Kernels have words for each of their dropouts, named by the number of its statement.
TEST(CliProgram, NamesOfValuesMayBeThoseOfADropout) {
  expect_verified(R"(
mesh world(tp)
dim N
program p(x: f32[N] sliced(0), scalar rate: f32 = 0.25) {
  dropout_2 = x + 1.0
  dropout_2_words = dropout_2 * dropout_2
  dropout_3 = dropout_2_words * dropout_2
  dropout_3_words = dropout_3 * dropout_3
  dropout_4 = dropout_3_words + dropout_3
  dropout_4_words = dropout(dropout_4, rate)
  dropout_5 = dropout_4_words * dropout_4
  dropout_6 = dropout(dropout_5, rate)
  dropout_9 = dropout(dropout_6 + dropout_5, rate)
  return dropout_2_words, dropout_3_words, dropout_4_words, dropout_9
}
schedule fused for p {
  f = fuse(dropout_2, dropout_2_words, dropout_3, dropout_3_words, dropout_4, dropout_4_words,
           dropout_5, dropout_6, dropout_9)
}
)",
                  "--ranks 2 --dim N=5 --schedule fused");
}

// Buffers beside the words that kernels make of other buffers, before them and after them.
TEST(CliProgram, NamesOfBuffersMayBeThoseOfTheirParts) {
  expect_verified(R"(
mesh world(tp)
dim N
program p(x: f32[N] sliced(0), at_y: f32[N] sliced(0)) {
  x_i = x + at_y
  y = x_i * 2.0
  to_z = y - x_i
  z = all_gather(to_z + x)
  return x_i, y, z
}
)",
                  "--ranks 2 --dim N=5");
}

}  // namespace
}  // namespace coconet::tests
