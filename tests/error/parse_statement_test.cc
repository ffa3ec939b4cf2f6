#include "tests/error/parse_fixture.h"

namespace coconet {
namespace {

using fixture::expect_errors;
using fixture::expect_statement_error;
using fixture::with_statement;

TEST(ParseStatements, Names) {
  expect_statement_error("z = q + x", "7", "`q` is not a value, or not yet one");
  expect_statement_error("total = x  u = totla + 1", "18", "did you mean `total`?");
  expect_statement_error("x = y", "3", "the name x is taken by line 3");
  expect_statement_error("z = x  z = x", "10", "the name z is taken by line 4");
  expect_statement_error("N = x", "3", "the name N is taken by a dim, an axis or a dtype");
  expect_statement_error("z = N + x", "7", "for its size write `size(N)`");
  expect_statement_error("z = tp + x", "7", "for its size write `size(tp)`");
  expect_statement_error("z = sqrt + x", "7", "it is a function, called as `sqrt(x)`");
  expect_statement_error("z = sqr(x)", "7", "`sqr` is not a function; did you mean `sqrt`?");
  expect_statement_error("z = foo(x)", "7",
                         "`foo` is not a function; there are abs, across, all_gather,");
  expect_statement_error("z, u = x + 1", "3", "an expression gives one value; found 2 names");
}

TEST(ParseStatements, Form) {
  expect_statement_error("z x", "5", "found `x` where `=` is needed");
  expect_statement_error("z = ", "6", "found `return`");
  expect_statement_error("z = x +", "10", "found `return` where an expression is needed");
  expect_statement_error("z = (x + 1", "13", "`)` is needed to close a parenthesis");
  expect_statement_error("z = x < y < a", "13", "comparisons do not chain");
  expect_statement_error("z = x * not a", "11", "`not` binds less tightly");
  expect_statement_error("z = x % 2", "9", "`%` stands only in `require`");
  expect_statement_error("z = 1.", "7", "`1.` is not a number");
  expect_statement_error("z = 1x", "7", "`1x` is not a number");
  expect_statement_error("z = x * .5", "11", "`.5` is not a number; a number is like 3, 0.5");
  expect_statement_error("if x > 1.0 { z = x }", "6",
                         "there is no `if`: where(condition, x, y) chooses for each element");
  expect_statement_error("for i { z = x }", "7", "there are no loops");
  expect_statement_error("z = x * 99999999999999999999", "11", "an integer fits in 63 bits");
  expect_statement_error("z = x * 1e999", "11", "too large");
  expect_statement_error("z = x * pow(2, i)", "11", "operand 1 of pow is a literal");
  expect_statement_error("z = h + 1e-8", "7", "rounds to 0");
  expect_statement_error("z = x * 1e-999", "11", "too small for a number");
  expect_statement_error("update(x, x + 1)", "9", "takes a name, as `y = update(...)`");
  expect_statement_error("z = [x, x]", "7", "a list of tensors is one input");
  expect_statement_error("z = x $ 1", "9", "`$` has no meaning");
  expect_statement_error("z = x \xC3\xA9", "9", "names are of ASCII letters, digits and _");
}

TEST(ParseStatements, OperatorsOfOtherLanguages) {
  expect_statement_error("z = x ** 2", "10", "`**` is no operator; a power is pow(a, b)");
  expect_statement_error("z = x ^ 2", "9", "a power is pow(a, b)");
  expect_statement_error("z = x @ w", "9", "a product of matrices is matmul(a, b)");
  expect_statement_error("z = (x > 0) & (x < 1)", "15", "write `and`");
  expect_statement_error("z = (x > 0) | (x < 1)", "15", "write `or`");
  expect_statement_error("z = !(x > 0)", "7", "write `not`");
  expect_statement_error("z = not x", "7", "not(f32[N]): found f32, needed bool");
}

TEST(ParseStatements, WhatReturnTakes) {
  const auto returning = [](const std::string& value) {
    return "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  return " + value + "\n}\n";
  };
  expect_errors(returning("x * 2"), {{"4:12", "give the expression one, as `out = ...`"}});
  expect_errors(returning("exp(x)"), {{"4:13", "`return` takes names alone"}});
  expect_errors(returning("x and x"), {{"4:12", "`return` takes names alone"}});
  expect_errors(returning("2 * x"), {{"4:10", "`return` takes names alone"}});
  expect_errors("mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y = x + 1\n}\n",
                {{"3:9", "the program p gives nothing; it needs `return`"}});
  parse_file("mesh w(tp)\ndim N\nprogram p(state x: f32[N]) {\n  y = update(x, x + 1)\n}\n");
}

TEST(ParseStatements, Arguments) {
  expect_statement_error("z = all_reduce(y)", "7", "lacks its argument `fold`");
  expect_statement_error("z = all_reduce(y, *)", "21", "an expression is needed");
  expect_statement_error("z = all_reduce(y, x)", "21", "is a fold: +, max, min or prod");
  expect_statement_error("z = all_reduce(+, y)", "18", "`x` of `all_reduce` is a value");
  expect_statement_error("z = all_reduce(y, +)@pp", "24", "`pp` is not an axis");
  expect_statement_error("z = all_reduce(y, +, x)", "24", "has no place for this argument");
  expect_statement_error("z = sqrt(x)@tp", "7", "`sqrt` takes no `@` axes");
  expect_statement_error("z = cast(x, f23)", "15", "`f23` is not a dtype; did you mean `f32`?");
  expect_statement_error("z = cast(x, 1)", "15", "is a dtype, as f32");
  expect_statement_error("z = matmul(x, w, f32)", "20",
                         "called as `matmul(a, b[, ta=ta][, tb=tb][, out=out])`");
  expect_statement_error("z = dropout(x, a, site=x)", "26", "is an integer");
  expect_statement_error("z = dropout(x, 1.5)", "7", "probability is 1.5; it must be from 0 to 1");
  expect_statement_error("z = dropout(x, 2)", "7", "probability is 2.0; it must be from 0 to 1");
  expect_statement_error("z = dropout(x, -0.1)", "7", "probability is -0.1");
  expect_statement_error("z = dropout(x, cast(1.5, f32))", "7", "probability is 1.5");
  expect_statement_error("z = dropout(x, a, seed=1)", "21", "has no place for this argument");
  expect_statement_error("z = conv2d(x, x, strid=2)", "20",
                         "no place for this argument; did you mean `stride`?; it is called as");
  expect_statement_error("z = shard(x, x)", "16", "is a slice, as (0), (0..1) or (*)");
  expect_statement_error("z = sum(x, 0)", "14", "dims in brackets, as [0] or [0,1]; found `0`");
  expect_statement_error("z = sum(x, (0..1))", "14", "found the slice (0..1)");
  expect_statement_error("z = all_reduce(y, [0])", "21", "found dims in brackets");
  expect_statement_error("z = all_reduce(y, x + x)", "21", "found an expression");
  expect_statement_error("z = sum(x, [N])", "15", "dims are given by their numbers");
  expect_statement_error("z = sum(x, [0,0])", "14", "dim 0 stands twice");
  expect_statement_error("z = sum(x, [])", "14", "no dims in the brackets");
  expect_statement_error("z = x / size(pp)", "16", "`pp` is not a dim");
  expect_statement_error("z = x / size(N+M)", "16", "size(...) takes an axis");
  expect_statement_error("z = all_to_all(x, 0, x)", "24", "`to` of `all_to_all` is a slice");
  expect_statement_error("z = all_to_all(x, 0)", "7", "lacks its argument `to`");
  expect_statement_error("z = stack(x, 0)", "16", "has no place for this argument");
  expect_statement_error("z = shift(x, pp, 1)", "16", "`pp` is not an axis of the mesh");
  expect_statement_error("z = shift(x, N*N, 1)", "16", "`axis` of `shift` is an axis of the mesh");
  expect_statement_error("z = shift(x, tp, x)", "20",
                         "`by` of `shift` is an integer of either sign");
  expect_statement_error("z = shift(x, tp, 1.5)", "20", "integer of either sign; found `1.5`");
  expect_statement_error("z = shift(x, tp, -3000000000)", "20", "of 31 bits");
  expect_statement_error("z = shift(x, tp, 1, round)", "23", "is the word `wrap`; found `round`");
  expect_statement_error("z = shift(x, tp)", "7", "lacks its argument `by`");
  expect_statement_error("z = shift(x, tp, 1)@tp", "7", "takes no `@` axes");
  expect_statement_error("z = x + [1]", "11", "an expression is needed");
}

TEST(ParseStatements, AbsentOperations) {
  for (const char* name : {"conv1d", "conv3d", "convolution"}) {
    expect_statement_error("z = " + std::string(name) + "(x)", "7",
                           "`" + std::string(name) + "` is not supported in this version");
    try {
      parse_file(with_statement("z = " + std::string(name) + "(x)"));
    } catch (const UserErrors& errors) {
      EXPECT_EQ(errors.errors()[0].kind(), ErrorKind::unsupported);
    }
  }
}

TEST(ParseStatements, MovementOfData) {
  expect_statement_error("z = transpose(x, 0)", "20", "the dims in their new order, as [1,0]");
  expect_statement_error("z = transpose(x, [0,0])", "20", "dim 0 stands twice");
  expect_statement_error("z = reshape(x, [K])", "19", "`K` is not a dim");
  expect_statement_error("z = reshape(x)", "7", "lacks its argument `shape`");
  expect_statement_error("z = narrow(x, 0, 0, N / 2)", "23", "a product of dims, as 2*H");
  expect_statement_error("z = concat(0)", "7", "lacks its argument `dim`");
  expect_statement_error("z = concat(x, x)", "17", "`dim` of `concat` is an integer");
  expect_statement_error("z = concat(x, [0], 0)", "17", "is a value; found dims in brackets");
  expect_statement_error("z = matmul(x, x, ta=1)", "23", "is true or false");
}

TEST(ParseStatements, Literals) {
  expect_statement_error("z = i + 1.5", "7", "the literal 1.5 meets an operand of dtype i32");
  expect_statement_error("z = i + 3000000000", "7", "integers of 32 bits");
  expect_statement_error("z = h + 1e5", "7", "smaller values");
  expect_statement_error("z = x + true", "7", "which takes numbers");
  expect_statement_error("z = x * (1 / 3)", "12", "write 1.0 / 3");
  expect_statement_error("z = x * (1 / 0)", "12", "by zero");
  expect_statement_error("z = x * (1.0 / 0)", "12", "has no finite value");
  expect_statement_error("z = x * (1 + true)", "12", "mixes a number and a truth value");
  expect_statement_error("z = x * (9223372036854775807 + 1)", "12", "63 bits");
  expect_statement_error("z = where(true, 1, 2)", "7", "on literals alone has no dtype");
  expect_statement_error("z = norm(1)", "7", "is a literal, and no operand beside it");
  expect_statement_error("z = all_reduce(1, +)", "7", "is a literal, which has no dtype");
  expect_errors(with_statement("z = 1  return z"), {
                                                       {"4:17", "the output z is a literal"},
                                                       {"5:3", "nothing stands after `return`"},
                                                   });
}

TEST(ParseStatements, Types) {
  expect_statement_error("z: f32[N] = y", "6",
                         "the expression is f32[N] partial(+), but f32[N] is written here");
  expect_statement_error("z: f32[K] = y", "10", "`K` is not a dim");
  expect_statement_error("z = y + x", "7", "(2) a + as_partial(b, +)");
  expect_statement_error("z = x + h", "7", "f32[N] + f16[N]");
  expect_statement_error("z = dropout(x, a) + dropout(x, a, site=0)", "23",
                         "two dropouts have site 0");
  expect_statement_error("z = dropout(x, a, site=3) + dropout(y, a, site=3)", "31",
                         "two dropouts have site 3 and so one mask");
}

TEST(ParseStatements, Results) {
  const std::string head = "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n";
  expect_errors(head + "  return z\n}", {{"4:10", "`z` is not a value of the program"}});
  expect_errors(head + "  return x, x\n}", {{"4:13", "the output x stands twice"}});
  expect_errors(head + "  return x\n  y = x + 1\n}", {{"5:3", "nothing stands after `return`"}});
  expect_errors(head + "  return x\n", {{"5:1", "`}` is needed to close the `{` of line 3"}});
  expect_errors(head + "  return x\nprogram q(x: f32[N]) { return x }",
                {{"5:1", "`}` is needed to close the `{` of line 3"}});
}

TEST(ParseStatements, Groups) {
  expect_statement_error("u = fused f { z = x + 1 }", "3", "`u` is not given in the group f");
  expect_statement_error("u = fused f { }", "3", "`u` is not given");
  expect_statement_error("overlapped o { }", "14", "the group o holds nothing");
  expect_statement_error("u = fused f { u = fused g { u = x + 1 } }", "17",
                         "a fused group holds statements");
  expect_statement_error("u = fused f { u = x + 1 return u }", "27", "alone");
  expect_statement_error("u = fused x { u = x + 1 }", "13", "the name x is taken");
}

TEST(ParseStatements, Schedules) {
  const std::string head = "mesh w(tp)\ndim N\nprogram p(x: f32[N]) { return x }\n";
  expect_errors(head + "schedule s p { }", {{"4:12", "`for` is needed"}});
  expect_errors(head + "schedule s for pp { }", {{"4:16", "did you mean `p`?"}});
  expect_errors(head + "schedule s for p { a = b }", {{"4:26", "`(` is needed"}});
  expect_errors(head + "schedule s for p { a, b c() }", {{"4:25", "`=` is needed"}});
  expect_errors(head + "schedule s for p { split(3) }", {{"4:26", "an argument of a step"}});
  expect_errors(head + "schedule s for p { split(a, (x)) }",
                {{"4:30", "a dim (or `*`) of a slice"}});
  expect_errors(head + "schedule s for p { split(a, []) }", {{"4:30", "the name of a value"}});
  expect_errors(head + "schedule s for p { split(a)\n", {{"5:1", "`}` is needed"}});
}

}  // namespace
}  // namespace coconet
