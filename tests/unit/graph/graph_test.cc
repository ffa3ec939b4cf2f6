#include "coconet/graph/graph.h"

#include <gtest/gtest.h>

#include "tests/graph_fixture.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

// The attention epilogue of DESIGN 4.
TEST(Graph, InfersTheAttentionEpilogue) {
  Fixture f({"tp"}, {{"T", DTypeKind::f16}});
  const DType t(DTypeKind::f16, "T");
  const NodeId x = f.input("x", t, {"B", "S", "H"}, sliced(2));
  const NodeId w = f.input("w", t, {"H", "H"}, sliced(0));
  const NodeId b = f.input("b", t, {"H"});
  const NodeId r = f.input("r", t, {"B", "S", "H"});
  const NodeId rate = f.scalar("rate", f32, 0.1);
  const NodeId layer = f.add(Matmul{}, {x, w}, "layer");
  EXPECT_EQ(f.text(layer), "T[B,S,H] partial(+)");
  const NodeId total = f.add(AllReduce{Fold::sum, {0}}, {layer}, "total");
  EXPECT_EQ(f.text(total), "T[B,S,H]");
  const NodeId sum = f.apply(PointwiseFn::add, {total, b});
  const NodeId drop = f.add(Dropout{0}, {sum, rate}, "drop");
  const NodeId out = f.apply(PointwiseFn::add, {drop, r}, "out");
  const Graph graph = f.finish({out});
  EXPECT_EQ(graph.size(), 10);
  EXPECT_EQ(graph.label(graph.find("drop")), "drop");
  EXPECT_EQ(graph.label({graph.find("drop").index - 1}), "'+' in drop");
  EXPECT_EQ(graph.outputs()[0].name, "out");
}

}  // namespace
}  // namespace coconet
