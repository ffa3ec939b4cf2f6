#include "coconet/graph/expand.h"

#include <gtest/gtest.h>

#include "tests/graph_fixture.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

// The operations from the first one after the inputs on, in order.
std::string words(const GraphBuilder& builder) {
  std::string out;
  for (int i = 0; i < builder.size(); ++i) {
    if (std::holds_alternative<Input>(builder.node({i}).op)) continue;
    out += (out.empty() ? "" : " ") + std::string(name_of(builder.node({i}).op));
  }
  return out;
}

TEST(Expand, LeavesAloneWhatNeedsNoCollective) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"B", "H"});
  const NodeId rows = f.input("rows", f32, {"B", "H"}, sliced(0));
  const NodeId h = f.input("h", f32, {"H"});
  f.add(Norm{}, {x});
  f.add(Reduce{ReduceFn::mean, {}}, {x});
  f.add(Reduce{ReduceFn::mean, {1}}, {rows});
  f.add(Reduce{ReduceFn::sum, {0}}, {rows});  // partial: the program's to reduce
  f.add(LayerNorm{}, {rows, h, h, f.literal(1e-5)});
  EXPECT_EQ(words(f.builder), "norm mean mean sum constant layer_norm");
}

TEST(Expand, NormOfAFlatSliceGathersBlockSums) {
  Fixture f;
  const NodeId x = f.input("x", f16, {"B", "H"}, sliced_flat());
  const NodeId norm = f.add(Norm{}, {x}, "n");
  EXPECT_EQ(words(f.builder), "block_squares all_gather fold sqrt cast");
  EXPECT_EQ(f.text(norm), "f16[]");
  EXPECT_EQ(f.builder.node(norm).name, "n");
}

TEST(Expand, NormInF32NeedsNoCastBack) {
  Fixture f;
  const NodeId x = f.input("x", f16, {"N"}, sliced_flat());
  EXPECT_EQ(f.text(f.add(Norm{f32}, {x})), "f32[]");
  EXPECT_EQ(words(f.builder), "block_squares all_gather fold sqrt");
}

TEST(Expand, NormOfRowsSumsSquares) {
  Fixture f;
  const NodeId x = f.input("x", f16, {"B", "H"}, sliced(0));
  EXPECT_EQ(f.text(f.add(Norm{}, {x})), "f16[]");
  EXPECT_EQ(words(f.builder), "cast mul sum all_reduce sqrt cast");
}

TEST(Expand, TensorWideReductionsOfAFlatSlice) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"}, sliced_flat());
  EXPECT_EQ(f.text(f.add(Reduce{ReduceFn::max, {}}, {x})), "f32[]");
  EXPECT_EQ(words(f.builder), "block_max all_gather fold");
  Fixture g;
  const NodeId y = g.input("y", bf16, {"B", "H"}, sliced_flat());
  EXPECT_EQ(g.text(g.add(Reduce{ReduceFn::mean, {}}, {y})), "bf16[]");
  EXPECT_EQ(words(g.builder), "block_sums all_gather fold size div cast");
  EXPECT_EQ(std::get<DimSize>(g.builder.node({4}).op).dim.text(), "B*H");
}

TEST(Expand, MeanOverASlicedDim) {
  Fixture f;
  const NodeId x = f.input("x", f16, {"B", "H"}, sliced(1));
  EXPECT_EQ(f.text(f.add(Reduce{ReduceFn::mean, {1}}, {x})), "f16[B,1]");
  EXPECT_EQ(words(f.builder), "cast sum all_reduce size div cast");
  EXPECT_EQ(std::get<DimSize>(f.builder.node({4}).op).dim.text(), "H");
}

TEST(Expand, LayerNormOverASlicedDim) {
  Fixture f;
  const NodeId x = f.input("x", f16, {"B", "H"}, sliced(1));
  const NodeId h = f.input("h", f16, {"H"}, sliced(0));
  EXPECT_EQ(f.text(f.add(LayerNorm{}, {x, h, h, f.literal(1e-5)})), "f16[B,H] sliced(1)");
}

TEST(Expand, KeepsTheOtherAxes) {
  Fixture f({"dp", "tp"});
  const NodeId x = f.input("x", f.type(f32, {"N"}, {{0, local()}, {1, sliced_flat()}}));
  EXPECT_EQ(f.text(f.add(Norm{}, {x})), "f32[] local@dp");
  const NodeId y = f.input("y", f.type(f32, {"B", "H"}, {{0, partial()}, {1, sliced(1)}}));
  EXPECT_EQ(f.text(f.add(Reduce{ReduceFn::mean, {1}}, {y})), "f32[B,1] partial(+)@dp");
  EXPECT_EQ(f.text(f.add(Reduce{ReduceFn::sum, {}}, {y})), "f32[] partial(+)@dp partial(+)@tp");
  const NodeId z = f.input("z", f.type(f32, {"N"}, {{0, sliced_flat()}, {1, sliced_flat()}}));
  EXPECT_EQ(f.text(f.add(Norm{}, {z})), "f32[]");
  const NodeId w = f.input("w", f.type(f32, {"B", "H"}, {{0, sliced(0)}, {1, sliced(1)}}));
  EXPECT_EQ(f.text(f.add(Reduce{ReduceFn::mean, {1}}, {w})), "f32[B,1] sliced(0)@dp");
}

// Blocks are of the flat index of what tp leaves; the sums are folded over tp after.
TEST(Expand, AFlatSliceWithinOthersIsGatheredFirst) {
  Fixture f({"dp", "tp"});
  const NodeId x = f.input("x", f.type(f16, {"B", "H"}, {{1, sliced(1)}, {0, sliced_flat()}}));
  EXPECT_EQ(f.text(f.add(Norm{f32}, {x})), "f32[]");
  EXPECT_EQ(words(f.builder), "all_gather cast mul sum all_reduce sqrt");
  EXPECT_EQ(f.text({1}), "f16[B,H] sliced(1)@tp");
  EXPECT_EQ(f.text(f.add(Reduce{ReduceFn::max, {}}, {x})), "f16[] partial(max)@tp");
  EXPECT_EQ(f.text(f.add(Reduce{ReduceFn::mean, {}}, {x})), "f16[]");
}

TEST(Expand, AnEpsOfF32IsCastForF64) {
  Fixture f;
  const NodeId x = f.input("x", f64, {"B", "H"});
  const NodeId h = f.input("h", f64, {"H"});
  const NodeId eps = f.scalar("eps", f32, 1e-5);
  f.add(LayerNorm{}, {x, h, h, eps});
  EXPECT_EQ(words(f.builder), "cast layer_norm");
  const NodeId narrow = f.input("narrow", f32, {"B", "H"});
  const NodeId g = f.input("g", f32, {"H"});
  const NodeId wide_eps = f.scalar("wide_eps", f64);
  expect_refused([&] { f.add(LayerNorm{}, {narrow, g, g, wide_eps}); }, {"needed a scalar of f32"});
}

TEST(Expand, WhatInferenceRefusesIsRefusedOverSlicesToo) {
  for (const Placement& placement : {Placement(sliced(0)), Placement(sliced_flat())}) {
    Fixture f;
    const NodeId x = f.input("x", f32, {"N"}, placement);
    const NodeId i = f.input("i", i32, {"N"}, placement);
    expect_refused([&] { f.add(Reduce{ReduceFn::mean, {}}, {i}); }, {"mean(", "found i32"});
    expect_refused([&] { f.add(Norm{}, {i}); }, {"norm(", "found i32"});
    expect_refused([&] { f.add(Norm{i32}, {x}); }, {"norm(", "out is i32"});
  }
}

TEST(Expand, LayerNormOverASlicedDimTakesWeightsOfThatDimAlone) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"B", "H"}, sliced(1));
  const NodeId h = f.input("h", f32, {"H"});
  const NodeId half = f.input("half", f16, {"H"});
  const NodeId eps = f.literal(1e-5);
  const auto refuse = [&](std::vector<NodeId> inputs, const std::string& words) {
    expect_refused([&] { f.add(LayerNorm{}, inputs); }, {words});
  };
  refuse({x, x, h, eps}, "gamma is f32[B,H] sliced(1), needed f32[H]");
  refuse({x, half, h, eps}, "gamma is f16[H], needed f32[H]");
  refuse({x, h, eps, eps}, "beta is f32[], needed f32[H]");
  refuse({x, h, h, h}, "eps is f32[H], needed a scalar");
  EXPECT_EQ(f.text(f.add(LayerNorm{}, {x, h, h, eps})), "f32[B,H] sliced(1)");
}

}  // namespace
}  // namespace coconet
