// Pointwise operations over broadcasts and layouts.
#include <gtest/gtest.h>

#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

const Dim kB = Dim::named("B"), kS = Dim::named("S"), kH = Dim::named("H");
const Sizes kSizes = {{"B", 2}, {"S", 3}, {"H", 5}};

// x[B,S,H] + bias[H] * scale[S,1], x placed as given on one axis of `ranks`.
std::vector<double> biased(const Layout& layout, const Layout& bias_layout, int ranks) {
  Sample s({ranks}, kSizes);
  const NodeId x = s.input("x", {f32, {kB, kS, kH}, layout}, ramp(30));
  const NodeId bias = s.input("bias", {f32, {kH}, bias_layout}, ramp(5, 100));
  const NodeId scale = s.input("scale", {f32, {kS, Dim(1)}, s.whole()}, ramp(3, 1, 1));
  const NodeId product = s.pointwise(PointwiseFn::mul, {bias, scale});
  s.output("out", s.pointwise(PointwiseFn::add, {x, product}, "out"));
  return s.value_of("out");
}

TEST(Pointwise, ABroadcastReadsAtTheGlobalIndexOfEverySlice) {
  std::vector<double> want = ramp(30);
  for (int i = 0; i < 30; ++i) want[i] += 100.0 * (i % 5) * (i / 5 % 3 + 1);
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const Layout whole(1);
    EXPECT_EQ(biased(whole, whole, ranks), want);
    EXPECT_EQ(biased(sliced(0), whole, ranks), want);
    EXPECT_EQ(biased(sliced(1), whole, ranks), want);
    EXPECT_EQ(biased(sliced(2), whole, ranks), want);
    EXPECT_EQ(biased(sliced(2), sliced(0), ranks), want);
    EXPECT_EQ(biased(Layout(1).with(0, Sliced{Slice::range(0, 1)}), whole, ranks), want);
    EXPECT_EQ(biased(flat(), whole, ranks), want);
    EXPECT_EQ(biased(Layout(1).with(0, Rooted{ranks - 1}), whole, ranks), want);
  }
}

TEST(Pointwise, AnOperandSlicedByFewerAxesIsReadAtTheGlobalIndex) {
  Sample s({2, 3}, {{"N", 11}});
  const Dim n = Dim::named("N");
  const Layout fine = Layout(2).with(0, Sliced{Slice::dim(0)}).with(1, Sliced{Slice::dim(0)});
  const NodeId x = s.input("x", {f32, {n}, fine}, ramp(11));
  const NodeId y = s.input("y", {f32, {n}, sliced(0, 0, 2)}, ramp(11, 10));
  s.output("out", s.pointwise(PointwiseFn::add, {x, y}, "out"));
  EXPECT_EQ(s.value_of("out"), ramp(11, 11));
}

TEST(Pointwise, LocalValuesStayEachRanksOwn) {
  Sample s({3}, {{"N", 2}});
  const NodeId x = s.input("x", {f32, {Dim::named("N")}, local()}, {1, 2, 3, 4, 5, 6});
  const NodeId y = s.input("y", {f32, {Dim::named("N")}, s.whole()}, {10, 20});
  s.output("out", s.pointwise(PointwiseFn::mul, {x, y}, "out"));
  EXPECT_EQ(s.value_of("out"), (std::vector<double>{10, 40, 30, 80, 50, 120}));
}

TEST(Pointwise, SumsOfPartialsAreFoldedWhenTheyAreRead) {
  Sample s({3}, {{"N", 2}});
  const TensorType type{f16, {Dim::named("N")}, partial()};
  const NodeId x = s.input("x", type, {1, 2, 3, 4, 5, 6});
  const NodeId y = s.input("y", type, {0, 1, 0, 1, 0, 1});
  s.output("out", s.pointwise(PointwiseFn::sub, {x, y}, "out"));
  EXPECT_EQ(s.value_of("out"), (std::vector<double>{9, 9}));
}

TEST(Pointwise, WhereComparesAndChooses) {
  Sample s({2}, {{"N", 5}});
  const NodeId x = s.input("x", {f32, {Dim::named("N")}, sliced(0)}, {-2, -1, 0, 1, 2});
  const NodeId positive = s.pointwise(PointwiseFn::gt, {x, s.literal(0)});
  s.output("out", s.pointwise(PointwiseFn::where, {positive, x, s.literal(7)}, "out"));
  EXPECT_EQ(s.value_of("out"), (std::vector<double>{7, 7, 7, 1, 2}));
}

TEST(Pointwise, CastsAndSizesOfAxesAndDims) {
  Sample s({2, 3}, {{"N", 4}});
  const NodeId x = s.input("x", {f32, {Dim::named("N")}, Layout(2)}, {1.5, -1.5, 2049, 1e9});
  const NodeId whole = s.add(Cast{i32}, {x});
  const NodeId ranks = s.add(AxisSize{1, i32}, {});
  const NodeId elements = s.add(DimSize{Dim::named("N"), i32}, {});
  const NodeId sum = s.pointwise(PointwiseFn::add, {ranks, elements});
  s.output("out", s.pointwise(PointwiseFn::add, {whole, sum}, "out"));
  EXPECT_EQ(s.value_of("out"), (std::vector<double>{8, 6, 2056, 1e9 + 7}));
}

TEST(Pointwise, EmptyTensorsHaveNoElements) {
  for (int ranks : {1, 3}) {
    Sample s({ranks}, {{"N", 0}});
    const NodeId x = s.input("x", {f32, {Dim::named("N")}, sliced(0)}, {});
    s.output("out", s.pointwise(PointwiseFn::neg, {x}, "out"));
    EXPECT_TRUE(s.value_of("out").empty());
  }
}

}  // namespace
}  // namespace coconet::interp
