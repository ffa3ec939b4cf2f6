// Programs of the text form: names, types, groups, functions, outputs.
#include "coconet/program/read.h"

#include <gtest/gtest.h>

#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"

namespace coconet {
namespace {

void expect_parses_back(const Graph& graph) {
  const std::string text = print(graph);
  EXPECT_TRUE(parse_program(text) == graph) << text << print(parse_program(text));
}

TEST(ReadProgram, Header) {
  const Graph graph = parse_program(
      "mesh grid(dp, tp)\ndim N, M\ndim K\ndtype T = bf16\ndtype G = f32\n"
      "program p(x: T[M], y: G[4*N*M, 1]) { return x }");
  const Header wanted{
      "p", Mesh{"grid", {"dp", "tp"}}, {"N", "M"}, {{"T", DTypeKind::bf16}, {"G", DTypeKind::f32}}};
  EXPECT_TRUE(graph.header() == wanted);
  EXPECT_EQ(graph.node(graph.find("y")).type.text(graph.mesh()), "G[4*M*N,1]");
  expect_parses_back(graph);
}

TEST(ReadProgram, Require) {
  const Graph graph = parse_program(R"(
mesh grid(dp, tp)
dim B, S, H, nh, hd, P, T
require H == nh * hd and nh % size(tp) == 0
require nh % (size(dp) * size(tp)) == 0
require T == B + S
program heads(x: f32[B,S,H] sliced(2)@tp, w: f32[H,B*S] sliced(0)@[dp,tp]) {
  a: f32[B,S,nh,hd] sliced(2)@tp = reshape(x, [B,S,nh,hd])
  b: f32[B,nh,S,hd] sliced(1)@tp = transpose(a, [0,2,1,3])
  c: f32[B,S,nh*hd] sliced(2)@tp = reshape(transpose(b, [0,2,1,3]), [B,S,nh*hd])
  d: f32[nh,hd,B,S] sliced(0)@[dp,tp] = reshape(w, [nh,hd,B,S])
  return b, c, d
}
)");
  EXPECT_EQ(graph.header().dims, (std::vector<std::string>{"B", "S", "H", "nh", "hd"}));
  ASSERT_EQ(graph.header().requirements.size(), 2u);  // those whose dims are all the program's
  EXPECT_EQ(text_of(graph.header().requirements[0].condition, graph.mesh()),
            "H == hd*nh and nh % size(tp) == 0");
  expect_parses_back(graph);
  const Graph all = parse_program(R"(
mesh grid(dp, tp)
dim B, S, P
require not (P < B or -1 + B / 2 > (S - P) * 3) and size(tp) <= 8
program p(x: f32[B,S,P]) { return x }
)");
  EXPECT_EQ(text_of(all.header().requirements.at(0).condition, all.mesh()),
            "not (P < B or -1 + B / 2 > (S - P) * 3) and size(tp) <= 8");
  expect_parses_back(all);
}

TEST(ReadProgram, DimsAreThoseOfItsValues) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N, M, K, U\ndef f(x) = x * size(K)\n"
      "program p(x: f32[M*N]) { y = reshape(x, [M,N]) z = f(y) return z }");
  EXPECT_EQ(graph.header().dims, (std::vector<std::string>{"N", "M", "K"}));
  expect_parses_back(graph);
}

TEST(ReadProgram, Placements) {
  const Graph graph = parse_program(
      "mesh w(pp, dp, tp)\ndim B, S, H\nprogram p(a: f32[B,S] sliced(0)@[dp,tp],\n"
      "b: f32[B,S] sliced(1)@tp sliced(*)@dp, c: f32[B,S] partial(max)@[pp,tp],\n"
      "d: f32[B,S] rooted(1)@dp local@pp, e: f32[B,S,H] sliced(0..1)@tp replicated@dp,\n"
      "f: f32[B,S] sliced(0)@tp sliced(0..1)@[pp,dp],\n"
      "state g: f32[B] replicated) { return a }");
  const auto type = [&](const char* name) {
    return graph.node(graph.find(name)).type.text(graph.mesh());
  };
  EXPECT_EQ(type("a"), "f32[B,S] sliced(0)@[dp,tp]");
  EXPECT_EQ(type("b"), "f32[B,S] sliced(1)@tp sliced(*)@dp");
  EXPECT_EQ(type("c"), "f32[B,S] partial(max)@pp partial(max)@tp");
  EXPECT_EQ(type("d"), "f32[B,S] local@pp rooted(1)@dp");
  EXPECT_EQ(type("e"), "f32[B,S,H] sliced(0..1)@tp");
  EXPECT_EQ(type("f"), "f32[B,S] sliced(0)@tp sliced(0..1)@[pp,dp]");
  EXPECT_EQ(type("g"), "f32[B]");
  expect_parses_back(graph);
}

TEST(ReadProgram, WordsThatOpenDeclarationsMayBeNames) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\nprogram p(x: f32[N],\nrequire: f32[N]) {\nmesh = require + 1\n"
      "schedule = mesh + x\nprogram: f32[N] = schedule\nreturn program\n}");
  EXPECT_EQ(graph.outputs()[0].name, "program");
}

TEST(ReadProgram, Scalars) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\ndtype T = f16\nprogram p(x: T[N], scalar a: f32 = 1e-3, scalar b: i32 = "
      "-4,"
      "scalar c: T, scalar d: f64 = -0.5, scalar scalar: bool = true,) { return x }");
  const auto input = [&](const char* name) {
    return std::get<Input>(graph.node(graph.find(name)).op);
  };
  EXPECT_EQ(input("a").default_value, 1e-3);
  EXPECT_EQ(input("b").default_value, -4.0);
  EXPECT_EQ(input("c").default_value, std::nullopt);
  EXPECT_EQ(input("c").type.dtype, DType(DTypeKind::f16, "T"));
  EXPECT_EQ(input("d").default_value, -0.5);
  EXPECT_EQ(input("scalar").kind, InputKind::scalar);
  EXPECT_EQ(input("scalar").default_value, 1.0);
  EXPECT_NE(print(graph).find("scalar scalar: bool = true)"), std::string::npos) << print(graph);
  expect_parses_back(graph);
}

TEST(ReadProgram, WordsOfTheLanguageAsNames) {
  const Graph graph = parse_program(
      "mesh mesh(dim)\ndim program\nprogram schedule(state: f32[program], scalar: f32[program]) {\n"
      "  fused = state + scalar\n  overlapped = fused * max(fused, scalar)\n  max = "
      "exp(overlapped)\n"
      "  norm = max(max, fused)\n  return norm\n}");
  EXPECT_EQ(expression_text(graph, graph.find("norm")), "max(max, fused)");
  expect_parses_back(graph);
}

TEST(ReadProgram, AnAliasIsAnOutputsName) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y = x + 1\n  out = y\n  also = y\n  same = x\n"
      "  return out, y, same\n}");
  ASSERT_EQ(graph.outputs().size(), 3u);
  EXPECT_EQ(graph.outputs()[0].name, "out");
  EXPECT_EQ(graph.node(graph.outputs()[0].node).name, "y");
  EXPECT_EQ(graph.node(graph.outputs()[2].node).name, "x");
  EXPECT_EQ(print(graph),
            "mesh w(tp)\ndim N\n\nprogram p(x: f32[N]) {\n  y = x + 1.0\n  out = y\n  same = x\n"
            "  return out, y, same\n}\n");
  expect_parses_back(graph);
}

TEST(ReadProgram, ALiteralMayHaveAName) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  half = 1.0 / 2\n  y = x * half + half\n"
      "  return y\n}");
  EXPECT_EQ(expression_text(graph, graph.find("y")), "x * 0.5 + 0.5");
}

TEST(ReadProgram, TypesAreChecked) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\nprogram p(x: f32[N] partial(+)) {\n"
      "  y: f32[N] = all_reduce(x, +)\n  z: f32[N] sliced(*) = reduce_scatter(x, +, (*))\n"
      "  return y, z\n}");
  EXPECT_EQ(graph.outputs().size(), 2u);
}

TEST(ReadProgram, FunctionsAreExpanded) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\ndef swish(x, y) = x * sigmoid(x) * y\ndef twice(x) = swish(x, 2)\n"
      "program p(a: f32[N]) {\n  b = twice(a)\n  c = swish(a + b, b)\n  return c\n}");
  EXPECT_EQ(expression_text(graph, graph.find("b")), "a * sigmoid(a) * 2.0");
  // An argument is one value, however often the function reads it.
  EXPECT_EQ(expression_text(graph, graph.find("c")), "t_add * sigmoid(t_add) * b");
  expect_parses_back(graph);
}

TEST(ReadProgram, DropoutSitesAreNumbered) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y = dropout(x, 0.1) + dropout(x, 0.2)\n"
      "  z = dropout(y, 0.3)\n  return z\n}");
  EXPECT_EQ(expression_text(graph, graph.find("y")),
            "dropout(x, 0.1, site=0) + dropout(x, 0.2, site=1)");
  EXPECT_EQ(expression_text(graph, graph.find("z")), "dropout(y, 0.3, site=2)");
}

TEST(ReadProgram, GroupsParseBack) {
  const std::string text =
      "mesh world(tp)\ndim N, M\n\nprogram p(x: f32[N,M] sliced(1), w: f32[M,M] sliced(0), "
      "r: f32[N,M]) {\n"
      "  overlapped pipeline {\n    layer = matmul(x, w)\n    out, kept = fused ar {\n"
      "      rs = reduce_scatter(layer, +, (0))\n      kept = rs + shard(r, (0))\n"
      "      out = all_gather(exp(kept))\n    }\n  }\n"
      "  last = fused tail {\n    a = out * 2.0\n    last = a + r\n  }\n"
      "  return last, kept\n}\n";
  const Graph graph = parse_program(text);
  ASSERT_EQ(graph.groups().size(), 3u);
  EXPECT_EQ(graph.groups()[graph.find_group("pipeline").index].groups,
            std::vector<GroupId>{graph.find_group("ar")});
  // Results in the order in which the members stand.
  std::string wanted = text;
  wanted.replace(wanted.find("out, kept = "), 12, "kept, out = ");
  EXPECT_EQ(print(graph), wanted);
  expect_parses_back(graph);
}

TEST(ReadProgram, AProgramMayOnlyUpdate) {
  const Graph graph = parse_program(
      "mesh w(tp)\ndim N\nprogram p(state m: f32[N], x: f32[N]) { m2 = update(m, x) }");
  EXPECT_TRUE(graph.outputs().empty());
  expect_parses_back(graph);
}

TEST(ReadProgram, LongOnesAreRead) {
  std::string text = "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y0 = x + 1\n";
  for (int i = 1; i < 3000; ++i) {
    text += "  y" + std::to_string(i) + " = y" + std::to_string(i - 1) + " * x + 1\n";
  }
  const Graph graph = parse_program(text + "  return y2999\n}\n");
  EXPECT_EQ(graph.size(), 1 + 2 + 2999 * 3);
  expect_parses_back(graph);
}

TEST(ReadProgram, Lists) {
  const Graph graph = parse_program(
      "mesh w(dp)\ndim N_i, M_i, K_j, H\nprogram p(g: f16[N_i] list local, w: f32[M_i,H] list "
      "sliced(*), s: f32[] list, t: f32[] list(j), k: f32[K_j] list, list: f32[H]) {\n"
      "  d = across(g, max, size=[2*H])\n  e = mean(w)\n"
      "  n: f32[] list = norm(w)\n  a = across(n, max)\n  b = g * cast(s, f16)\n"
      "  c = k * t\n  return a, b, c, d, e, list\n}");
  const auto type = [&](const char* name) {
    return graph.node(graph.find(name)).type.text(graph.mesh());
  };
  EXPECT_EQ(type("g"), "f16[N_i] list local");
  EXPECT_EQ(type("w"), "f32[M_i,H] list sliced(*)");
  EXPECT_EQ(type("b"), "f16[N_i] list local");
  EXPECT_EQ(type("n"), "f32[] list");
  EXPECT_EQ(type("a"), "f32[]");
  EXPECT_EQ(type("t"), "f32[] list(j)");
  EXPECT_EQ(type("c"), "f32[K_j] list");
  EXPECT_EQ(type("d"), "f16[2*H] local");
  const std::string printed = print(graph);
  EXPECT_TRUE(printed.find("d = across(g, max, size=[2*H])") != std::string::npos);
  EXPECT_TRUE(printed.find("fold(all_gather(block_sums(w)), +, mean=true)") != std::string::npos);
  expect_parses_back(graph);
}

}  // namespace
}  // namespace coconet
