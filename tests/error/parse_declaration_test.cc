#include "tests/error/parse_fixture.h"

namespace coconet {
namespace {

using fixture::expect_errors;

const std::string kHead = "mesh world(dp, tp)\ndim N, M\ndtype T = f16\n";

TEST(ParseDeclarations, Mesh) {
  expect_errors("mesh world", {{"1:11", "found the end of the file where `(` is needed"}});
  expect_errors("mesh world()", {{"1:12", "the name of an axis is needed"}});
  expect_errors("mesh world(tp tp)", {{"1:15", "where `)` is needed"}});
  expect_errors("mesh world(tp, tp)", {{"1:16", "the axis tp stands twice"}});
  expect_errors("mesh a(x)\nmesh b(y)", {{"2:6", "a file has one mesh"}});
  expect_errors("mesh world(a, b, c, d, e, f, g, h, i)",
                {{"1:6", "(a, b, c, d, e, f, g, h, i) has 9 axes; at most 8 are supported"}});
  expect_errors("mesh and(x)", {{"1:6", "`and` is a word of the language"}});
  expect_errors("dim N\nprogram p(x: f32[N]) { return x }",
                {{"2:9", "a mesh is declared before the programs"}});
}

TEST(ParseDeclarations, DimsAndDTypes) {
  expect_errors("dim N, 3", {{"1:8", "found `3` where the name of a dim is needed"}});
  expect_errors("dim N\ndim N", {{"2:5", "the name N is declared already"}});
  expect_errors("mesh w(tp)\ndim tp", {{"2:5", "the name tp is declared already"}});
  expect_errors("dtype T f16", {{"1:9", "`=` is needed before the default"}});
  expect_errors("dtype T = f61", {{"1:11", "`f61` is not a dtype; did you mean `f16`?"}});
  expect_errors("dtype f16 = f32", {{"1:7", "the name f16 is declared already"}});
}

TEST(ParseDeclarations, DimsOfManyFactors) {
  std::string factors = "N";
  for (int i = 1; i < 65; ++i) factors += "*N";
  const char* const words = "a dim is a product of 65 names; at most 64 are supported";
  expect_errors(kHead + "program p(x: f32[" + factors + "]) { return x }", {{"4:146", words}});
  expect_errors(kHead + "require " + factors + " == 1", {{"4:9", words}});
  expect_errors(kHead + "program p(x: f32[N]) {\n  z = x * size(" + factors + ")\n  return z }",
                {{"5:3", words}});
}

TEST(ParseDeclarations, WhatIsNoDeclaration) {
  expect_errors("maesh world(tp)", {{"1:1", "found `maesh` where a declaration is needed"}});
  expect_errors("progam p", {{"1:1", "program, schedule or choice; did you mean `program`?"}});
  expect_errors("// a note", {{"1:1", "`//` begins no comment; a comment begins with `#`"}});
  expect_errors("dim Q\nrequire Q % 2 = 0", {{"2:15", "that two are equal is `a == b`"}});
  expect_errors("# only\n}\n", {{"2:1", "found `}` where a declaration is needed"}});
}

TEST(ParseDeclarations, Require) {
  const auto require = [](const std::string& condition) { return kHead + "require " + condition; };
  expect_errors("dim N\nrequire N % 2 == 0", {{"2:9", "a mesh is declared before `require`"}});
  expect_errors(require(""), {{"4:9", "an expression is needed"}});
  expect_errors(require("N"), {{"4:9", "needed is a condition on sizes"}});
  expect_errors(require("N + (N == 1) > 2"), {{"4:14", "found a condition where a number"}});
  expect_errors(require("N and M == 1"), {{"4:9", "needed is a condition"}});
  expect_errors(require("K == 1"), {{"4:9", "`K` is not a dim"}});
  expect_errors(require("N % tp == 0"),
                {{"4:13", "`tp` is an axis; its number of ranks is size(tp)"}});
  expect_errors(require("max(N, M) == 1"), {{"4:9", "calls no function but size(axis)"}});
  expect_errors(require("N > 1.5"), {{"4:13", "takes whole numbers"}});
  expect_errors(require("1 == 2 or 2 % 2 == 1\nprogram p(x: f32[N]) { return x }"),
                {{"4:9", "which holds for no sizes"}});
  expect_errors(require("N == 1 == M"), {{"4:16", "comparisons do not chain"}});
}

// A program that stands before one would be without it.
TEST(ParseDeclarations, RequireStandsBeforeItsPrograms) {
  const std::string n = "program p(x: f32[N]) { return x }\n";
  const char* const moved =
      "the program p has the dims of this `require` and stands before it; "
      "move `require` before p";
  expect_errors(kHead + n + "require N > 3\n", {{"5:9", moved}});
  expect_errors(kHead + n + "require size(tp) == 2\n", {{"5:9", moved}});
  EXPECT_NO_THROW(parse_file(kHead + n + "require N > M\n"));  // p has no M
  EXPECT_NO_THROW(parse_file(kHead + "require N > 3\n" + n));
}

TEST(ParseDeclarations, Functions) {
  expect_errors("def f() = 1", {{"1:7", "the name of a parameter is needed"}});
  expect_errors("def f(x) 1", {{"1:10", "`=` is needed"}});
  expect_errors("def f(x, x) = x", {{"1:10", "the parameter x stands twice"}});
  expect_errors("def exp(x) = x", {{"1:5", "`exp` is a function of the language"}});
  expect_errors("def softmax(x) = x", {{"1:5", "`softmax` is a function of the language"}});
  expect_errors("def f(x) = x\ndef f(x) = x", {{"2:5", "the function f is defined already"}});
  const std::string program =
      "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y = f(x)\n  return y }\n";
  expect_errors("def f(x) = x + z\n" + program, {{"1:16", "`z` is not a parameter of f"}});
  expect_errors("def h(x) = x and true\ndef f(x) = 1 + h(x)\n" + program,
                {{"6:7", "; in the function `h` of line 1"}});
  expect_errors("def f(x, y) = x + y\n" + program, {{"5:7", "`f` takes 2 values; found 1"}});
  expect_errors("def f(x) = f(x)\n" + program, {{"1:5", "the function f calls itself; a call"}});
  expect_errors("def h(x) = x\ndef f(x) = h(x) + g(x)\ndef g(x) = h(1 + f(x))\n",
                {{"2:5", "the function f calls itself by way of g; a call"}});
  // What has no meaning inside is shown at the call.
  expect_errors("def f(x) = x + cast(x, f16)\n" + program, {{"5:7", "f32[N] + f16[N]"}});
}

TEST(ParseDeclarations, Types) {
  const auto input = [](const std::string& type) {
    return kHead + "program p(x: " + type + ") { return x }";
  };
  expect_errors(input("q32[N]"), {{"4:14", "`q32` is not a dtype"}});
  expect_errors(input("float32[N]"), {{"4:14", "`float32` is not a dtype; did you mean `f32`?"}});
  expect_errors(input("bfloat16[N]"), {{"4:14", "not a dtype; did you mean `bf16`?"}});
  expect_errors(input("f32"), {{"4:17", "`[` is needed to open the dims"}});
  expect_errors(input("f32[N"), {{"4:19", "`]` is needed"}});
  expect_errors(input("f32[K]"), {{"4:18", "`K` is not a dim"}});
  expect_errors(input("f32[9999999999*9999999999]"), {{"4:29", "a dim fits in 63 bits"}});
  expect_errors(input("f32[N] sliced(0)"),
                {{"4:21",
                  "sliced(0) does not say on which axis of the mesh world(dp, tp); write "
                  "sliced(0)@dp"}});
  expect_errors(input("f32[N] local"), {{"4:21", "local does not say on which axis"}});
  expect_errors(input("f32[N] sliced(0)@pp"),
                {{"4:31", "`pp` is not an axis of the mesh world(dp, tp); did you mean `dp`?"}});
  expect_errors(input("f32[N] sliced(0)@tp local@tp"),
                {{"4:34", "the axis tp has two placements"}});
  expect_errors(input("f32[N] sliced(0)@[tp,tp]"), {{"4:35", "the axis tp stands twice"}});
  expect_errors(input("f32[N] sliced(1)@tp"), {{"4:14", "needs dims that exist"}});
  expect_errors(input("f32[N,1] sliced(0..1)@tp"), {{"4:14", "is a literal 1"}});
  expect_errors(input("f32[N,M] sliced(1..0)@tp"), {{"4:30", "from a lower dim to a higher one"}});
  expect_errors(input("f32[N,M] sliced(0..1)@tp sliced(0)@dp"),
                {{"4:39", "overlaps the earlier slice"}});
  expect_errors(input("f32[N] sliced(+)@tp"), {{"4:28", "a dim (or `*`) of a slice"}});
  expect_errors(input("f32[N] partial(/)@tp"), {{"4:29", "a fold is needed: +, max, min or prod"}});
  expect_errors(input("f32[N] scattered(0)@tp"), {{"4:21", "`scattered` is not a placement"}});
  expect_errors(
      input("f32[N] locl@dp"),
      {{"4:21", "`locl` is not a placement; did you mean `local`?; there are replicated"}});
  expect_errors(input("f32[N] sliced@dp"),
                {{"4:27", "needed after sliced, as in sliced(0), sliced(0..1) or sliced(*)"}});
  expect_errors(input("f32[N] partial"), {{"4:28", "as in partial(+)"}});
  expect_errors(input("f32[N] partial(+)@dp partial(max)@tp"),
                {{"4:14", "all partial axes of a tensor have one operation"}});
  expect_errors(input("f32[N] list local@dp"), {{"4:14", "no dim that is numbered by member"}});
}

TEST(ParseDeclarations, Inputs) {
  const auto inputs = [](const std::string& text) {
    return kHead + "program p(" + text + ") { return x }";
  };
  expect_errors(inputs("x f32[N]"), {{"4:13", "`:` is needed"}});
  expect_errors(inputs("x: f32[N] y: f32[N]"), {{"4:21", "`)` is needed"}});
  expect_errors(inputs("x: f32[N], x: f32[M]"), {{"4:22", "the name x is taken by line 4"}});
  expect_errors(inputs("x: f32[N], lr: f32 = 1"),
                {{"4:30", "found `=` where `[` is needed to open the dims of lr"}});
  expect_errors(inputs("x: f32[N], lr: f32"), {{"4:29", "`scalar lr: f32`"}});
  expect_errors(inputs("x: f32[N], state m: f32, y: f32[N]"), {{"4:34", "f32[] for one number"}});
  expect_errors(inputs("x: f32[N] state y: f32[N]"), {{"4:21", "`)` is needed"}});
  expect_errors(inputs("N: f32[N], x: f32[N]"), {{"4:11", "the name N is taken by a dim"}});
  expect_errors(inputs("x: f32[N], scalar a: f32[N]"), {{"4:35", "a scalar has no dims"}});
  expect_errors(inputs("x: f32[N], scalar a: f32 = b"), {{"4:38", "the default of a scalar"}});
  expect_errors(inputs("x: f32[N], scalar a: i32 = 1.5"),
                {{"4:38", "i32 is 1.5; needed are integers"}});
  expect_errors(inputs("x: f32[N], scalar a: f16 = 1e6"),
                {{"4:38", "is 1e+06; needed are smaller values"}});
  expect_errors(inputs("x: f32[N], scalar a: bool = 2"), {{"4:39", "a bool is true or false"}});
  expect_errors(inputs("x: f32[N], scalar a: f32 = true"), {{"4:38", "needed are numbers"}});
}

TEST(ParseDeclarations, TwoOfAName) {
  const std::string p = "program p(x: f32[N]) { return x }\n";
  expect_errors("mesh w(t)\ndim N\n" + p + p, {{"4:9", "the program p stands twice"}});
  expect_errors("mesh w(t)\ndim N\n" + p + "schedule s for p { }\nschedule s for p { }",
                {{"5:10", "the schedule s for p stands twice"}});
}

}  // namespace
}  // namespace coconet
