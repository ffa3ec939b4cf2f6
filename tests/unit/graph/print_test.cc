#include "coconet/graph/print.h"

#include <gtest/gtest.h>

#include "coconet/graph/literal.h"
#include "tests/graph_fixture.h"

namespace coconet {
namespace {

using fixture::Fixture;
using fixture::partial;
using fixture::sliced;

TEST(Print, TypesAreComments) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"B", "H"}, sliced(1));
  const NodeId w = f.input("w", f32, {"H", "K"}, sliced(0));
  const NodeId y = f.add(Matmul{}, {x, w}, "y");
  const NodeId z = f.add(AllReduce{Fold::sum, {0}}, {y}, "z");
  const Graph graph = f.finish({z});
  EXPECT_EQ(print(graph, true),
            "mesh world(tp)\ndim B, S, H, N, M, K\n\n"
            "program test(x: f32[B,H] sliced(1), w: f32[H,K] sliced(0)) {\n"
            "  y = matmul(x, w)  # f32[B,K] partial(+)\n"
            "  z = all_reduce(y, +)  # f32[B,K]\n"
            "  return z\n}\n");
}

TEST(Print, LongSignaturesBreakBetweenInputs) {
  Fixture f({"dp", "tp"});
  for (int i = 0; i < 8; ++i) {
    f.input("input_number_" + std::to_string(i), f.type(f32, {"B", "H"}, {{1, sliced(1)}}));
  }
  const std::string text = print(f.finish({}));
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 100u) << text.substr(begin, end - begin);
  }
  EXPECT_NE(text.find("\n             input_number_"), std::string::npos) << text;
}

TEST(Print, AnOperandOfSeveralReadersHasAName) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId shared = f.apply(PointwiseFn::exp, {x});
  const NodeId y = f.apply(PointwiseFn::mul, {shared, shared}, "y");
  const Graph graph = f.finish({y});
  EXPECT_EQ(expression_text(graph, graph.find("y")), "t_exp * t_exp");
}

TEST(Print, LiteralsThatNothingGivesADTypeAreCast) {
  Fixture f;
  const NodeId c = f.apply(PointwiseFn::add, {f.literal(1, f64), f.literal(0.5, f64)}, "c");
  const NodeId d =
      f.apply(PointwiseFn::pow, {c, f.builder.add(Constant{std::int64_t{2}, i32}, {})}, "d");
  const Graph graph = f.finish({c, d});
  EXPECT_EQ(expression_text(graph, graph.find("c")), "cast(1.0, f64) + 0.5");
  EXPECT_EQ(expression_text(graph, graph.find("d")), "pow(c, cast(2, i32))");
}

TEST(Print, TextOfLiterals) {
  EXPECT_EQ(text_of(LiteralValue(true)), "true");
  EXPECT_EQ(text_of(LiteralValue(std::int64_t{-3})), "-3");
  EXPECT_EQ(text_of(LiteralValue(3.0)), "3.0");
  EXPECT_EQ(text_of(LiteralValue(1e-3)), "0.001");
  EXPECT_EQ(text_of(LiteralValue(1e100)), "1e+100");
  EXPECT_EQ(text_of(LiteralValue(0.1 + 0.2)), "0.30000000000000004");
}

TEST(Dot, NamedNodesGroupsAndEdges) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId y = f.apply(PointwiseFn::add, {f.apply(PointwiseFn::exp, {x}), x}, "y");
  const NodeId z = f.apply(PointwiseFn::neg, {y}, "z");
  Group group;
  group.kind = GroupKind::fused;
  group.name = "both";
  group.nodes = {y, z};
  f.builder.add_group(group);
  const Graph graph = f.finish({z});
  const std::string x_id = "n" + std::to_string(graph.find("x").index);
  const std::string y_id = "n" + std::to_string(graph.find("y").index);
  const std::string z_id = "n" + std::to_string(graph.find("z").index);
  const std::string text = dot(graph);
  EXPECT_NE(text.find(y_id + " [shape=box, label=\"y = exp(x) + x\\nf32[N]\"]"), std::string::npos)
      << text;
  EXPECT_NE(text.find(x_id + " -> " + y_id + ";"), std::string::npos) << text;
  EXPECT_NE(text.find(y_id + " -> " + z_id + ";"), std::string::npos) << text;
  EXPECT_NE(text.find("label=\"fused both\""), std::string::npos) << text;
}

}  // namespace
}  // namespace coconet
