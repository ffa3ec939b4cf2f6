#include "coconet/graph/graph.h"

#include <gtest/gtest.h>

#include "coconet/graph/walk.h"
#include "tests/graph_fixture.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

// The attention epilogue of README.md.
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

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) out.push_back(node.name);
  return out;
}

// Re-adds every node as a rewrite does: what is canonical stays as it is.
Graph rebuilt(const Graph& graph) {
  GraphBuilder builder(graph.header());
  for (const Node& node : graph.nodes()) builder.add(node.op, node.inputs, node.name);
  for (const Group& group : graph.groups()) builder.add_group(group);
  for (const Output& output : graph.outputs()) builder.add_output(output.name, output.node);
  return std::move(builder).finish();
}

TEST(GraphFinish, NamesWhatIsReadTwiceAndOutputs) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId once = f.apply(PointwiseFn::neg, {x});
  const NodeId twice = f.apply(PointwiseFn::exp, {once});
  const NodeId square = f.apply(PointwiseFn::mul, {twice, twice});
  f.builder.add_output("y", square);
  const Graph graph = std::move(f.builder).finish();
  EXPECT_EQ(names_of(graph), (std::vector<std::string>{"x", "", "t_exp", "y"}));
  EXPECT_EQ(rebuilt(graph), graph);
}

TEST(GraphFinish, DropsWhatNothingNeedsAndKeepsWhatHasAName) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  f.input("unused", f32, {"N"});
  f.apply(PointwiseFn::exp, {f.apply(PointwiseFn::neg, {x})});
  f.apply(PointwiseFn::log, {x}, "kept");
  const NodeId out = f.apply(PointwiseFn::abs, {x}, "out");
  EXPECT_EQ(names_of(f.finish({out})), (std::vector<std::string>{"x", "unused", "kept", "out"}));
}

TEST(GraphFinish, PutsUnnamedNodesBeforeTheirReaderAndLiteralsAtEachUse) {
  Fixture f;
  const NodeId two = f.literal(2);
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId left = f.apply(PointwiseFn::mul, {two, x});
  const NodeId first = f.apply(PointwiseFn::add, {x, two}, "first");
  const NodeId last = f.apply(PointwiseFn::sub, {first, left}, "last");
  f.builder.add_output("last", last);
  std::vector<NodeId> forward;
  const Graph graph = std::move(f.builder).finish(&forward);
  EXPECT_EQ(names_of(graph), (std::vector<std::string>{"x", "", "first", "", "", "last"}));
  EXPECT_EQ(graph.node({5}).inputs, (std::vector<NodeId>{{2}, {4}}));
  EXPECT_EQ(forward[left.index], NodeId{4});
  EXPECT_EQ(forward[last.index], NodeId{5});
  EXPECT_EQ(rebuilt(graph), graph);
}

TEST(GraphFinish, PutsMembersOfAGroupTogether) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId a = f.apply(PointwiseFn::exp, {x}, "a");
  const NodeId other = f.apply(PointwiseFn::log, {x}, "other");
  const NodeId b = f.apply(PointwiseFn::neg, {f.apply(PointwiseFn::abs, {a})}, "b");
  const NodeId out = f.apply(PointwiseFn::add, {b, other}, "out");
  const GroupId inner = f.builder.add_group({GroupKind::fused, "g", {a, b}, {}, {}});
  f.builder.add_group({GroupKind::overlapped, "o", {out}, {inner}, {}});
  const Graph graph = f.finish({out});
  EXPECT_EQ(names_of(graph), (std::vector<std::string>{"x", "other", "a", "", "b", "out"}));
  EXPECT_EQ(graph.group({0}).nodes, (std::vector<NodeId>{{2}, {3}, {4}}));
  EXPECT_EQ(graph.group({1}).groups, std::vector<GroupId>{{0}});
  EXPECT_EQ(group_of(graph, NodeId{3}), GroupId{0});
  EXPECT_EQ(group_of(graph, GroupId{0}), GroupId{1});
  EXPECT_EQ(rebuilt(graph), graph);
}

TEST(GraphFinish, NamesAMemberThatItsGroupDoesNotContain) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId inside = f.apply(PointwiseFn::exp, {x});
  const NodeId out = f.apply(PointwiseFn::neg, {inside}, "out");
  f.builder.add_group({GroupKind::fused, "g", {inside}, {}, {}});
  const Graph graph = f.finish({out});
  EXPECT_EQ(graph.group({0}).nodes, std::vector<NodeId>{graph.find("t_exp")});
}

TEST(GraphFinish, RefusesGroupsInACycle) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId a = f.apply(PointwiseFn::exp, {x}, "a");
  const NodeId between = f.apply(PointwiseFn::neg, {a}, "between");
  const NodeId b = f.apply(PointwiseFn::log, {between}, "b");
  f.builder.add_group({GroupKind::fused, "g", {a, b}, {}, {}});
  EXPECT_THROW(f.finish({b}), InternalError);
}

TEST(GraphFinish, PutsAnUpdateAfterTheReadersOfTheOldValue) {
  Fixture f;
  const NodeId m = f.state("m", f.type(f32, {"N"}));
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId m2 = f.add(Update{}, {m, x}, "m2");
  const NodeId old = f.apply(PointwiseFn::neg, {m}, "old");
  const Graph graph = f.finish({m2, old});
  EXPECT_EQ(names_of(graph), (std::vector<std::string>{"m", "x", "old", "m2"}));
  EXPECT_EQ(rebuilt(graph), graph);
}

TEST(GraphFinish, KeepsAnUpdateThatNobodyReads) {
  Fixture f;
  const NodeId m = f.state("m", f.type(f32, {"N"}));
  f.add(Update{}, {m, f.apply(PointwiseFn::neg, {m})});
  const Graph graph = f.finish({});
  EXPECT_EQ(names_of(graph), (std::vector<std::string>{"m", "", "t_update"}));
}

TEST(GraphBuilder, FindsFreeNames) {
  Fixture f;
  const NodeId x = f.input("drop'", f32, {"N"});
  EXPECT_EQ(f.builder.fresh_name("rs"), "rs");
  EXPECT_EQ(f.builder.fresh_name("drop'"), "drop2'");
  EXPECT_EQ(f.builder.fresh_name("N"), "N2");    // a dim
  EXPECT_EQ(f.builder.fresh_name("tp"), "tp2");  // a mesh axis
  f.builder.add_output("y", x);
  EXPECT_EQ(f.builder.fresh_name("y"), "y2");
}

TEST(GraphBuilder, AnOutputKeepsItsNameWhateverComputesIt) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"}, sliced(0));
  const NodeId gather = f.add(AllGather{{0}}, {x}, "gather");
  f.builder.add_output("out", gather);
  const Graph graph = std::move(f.builder).finish();
  EXPECT_EQ(graph.outputs()[0].name, "out");
  EXPECT_EQ(graph.node(graph.outputs()[0].node).name, "gather");
}

TEST(Graph, EqualityIgnoresPlacesOnly) {
  const auto make = [](int line, double value) {
    Fixture f;
    const NodeId x = f.input("x", f32, {"N"});
    const NodeId y =
        f.builder.add(Pointwise{PointwiseFn::mul}, {x, f.literal(value)}, "y", {"a.coco", line, 1});
    return f.finish({y});
  };
  EXPECT_EQ(make(1, 2), make(7, 2));
  EXPECT_FALSE(make(1, 2) == make(1, 3));
}

TEST(Walk, FollowsReadersAndInputs) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId y = f.input("y", f32, {"N"});
  const NodeId square = f.apply(PointwiseFn::mul, {x, x}, "square");
  const NodeId sum = f.apply(PointwiseFn::add, {f.apply(PointwiseFn::exp, {square}), y}, "sum");
  const Graph graph = f.finish({sum});
  const NodeId s = graph.find("square");
  EXPECT_EQ(readers_of(graph)[x.index], std::vector<NodeId>{s});
  EXPECT_EQ(list_of(dependents(graph, set_of(graph, {s}))), (std::vector<NodeId>{{2}, {3}, {4}}));
  EXPECT_EQ(list_of(dependencies(graph, set_of(graph, {s}))), (std::vector<NodeId>{{0}, {2}}));
  EXPECT_EQ(list_of(with_subexpressions(graph, {graph.find("sum")})),
            (std::vector<NodeId>{{3}, {4}}));
  EXPECT_TRUE(is_output(graph, graph.find("sum")));
  EXPECT_FALSE(is_output(graph, s));
}

}  // namespace
}  // namespace coconet
