#include "coconet/interp/product.h"

#include <gtest/gtest.h>

#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

const Dim kB = Dim::named("B"), kM = Dim::named("M"), kK = Dim::named("K"), kN = Dim::named("N");
const Sizes kSizes = {{"B", 2}, {"M", 3}, {"K", 7}, {"N", 5}};

std::vector<double> product(int ranks, const Layout& a_layout, const Layout& b_layout,
                            DType dtype = f32) {
  Sample s({ranks}, kSizes);
  const NodeId a = s.input("a", {dtype, {kB, kM, kK}, a_layout}, ramp(42));
  const NodeId b = s.input("b", {dtype, {kK, kN}, b_layout}, ramp(35, 1, -10));
  s.output("out", s.add(Matmul{}, {a, b}, "out"));
  return s.value_of("out");
}

std::vector<double> wanted() {
  std::vector<double> out(2 * 3 * 5, 0);
  for (int row = 0; row < 6; ++row) {
    for (int k = 0; k < 7; ++k) {
      for (int n = 0; n < 5; ++n) out[row * 5 + n] += (row * 7.0 + k) * (k * 5 + n - 10.0);
    }
  }
  return out;
}

TEST(InterpMatmul, EveryPlacementGivesTheSameProductOfWholeNumbers) {
  const std::vector<double> want = wanted();
  const Layout whole(1);
  for (int ranks = 1; ranks <= 8; ++ranks) {
    EXPECT_EQ(product(ranks, whole, whole), want);
    EXPECT_EQ(product(ranks, sliced(0), whole), want);
    EXPECT_EQ(product(ranks, sliced(1), whole), want);
    EXPECT_EQ(product(ranks, Layout(1).with(0, Sliced{Slice::range(0, 1)}), whole), want);
    EXPECT_EQ(product(ranks, whole, sliced(1)), want);
    EXPECT_EQ(product(ranks, sliced(2), sliced(0)), want);
    EXPECT_EQ(product(ranks, sliced(2), whole), want);
    EXPECT_EQ(product(ranks, whole, sliced(0)), want);
    EXPECT_EQ(product(ranks, Layout(1).with(0, Rooted{0}), whole), want);
    EXPECT_EQ(product(ranks, whole, whole, f64), want);
  }
}

TEST(InterpMatmul, TheInnerDimMayBeCutByMoreAxesInOneOperand) {
  Sample s({2, 3}, kSizes);
  const Layout fine = sliced(2, 0, 2).with(1, Sliced{Slice::dim(2)});
  const NodeId a = s.input("a", {f32, {kB, kM, kK}, fine}, ramp(42));
  const NodeId b = s.input("b", {f32, {kK, kN}, sliced(0, 0, 2)}, ramp(35, 1, -10));
  s.output("out", s.add(Matmul{}, {a, b}, "out"));
  EXPECT_EQ(s.value_of("out"), wanted());
}

TEST(InterpMatmul, RowsOverOneAxisAndColumnsOverAnother) {
  Sample s({2, 3}, kSizes);
  const Layout rows = Layout(2).with(0, Sliced{Slice::range(0, 1)});
  const NodeId a = s.input("a", {f32, {kB, kM, kK}, rows}, ramp(42));
  const NodeId b = s.input("b", {f32, {kK, kN}, sliced(1, 1, 2)}, ramp(35, 1, -10));
  s.output("out", s.add(Matmul{}, {a, b}, "out"));
  EXPECT_EQ(s.value_of("out"), wanted());
}

TEST(InterpMatmul, BatchedWithSlicedBatch) {
  for (int ranks : {1, 2, 3}) {
    Sample s({ranks}, kSizes);
    const NodeId a = s.input("a", {f32, {kB, kM, kK}, sliced(0)}, ramp(42));
    const NodeId b = s.input("b", {f32, {kB, kK, kN}, s.whole()}, ramp(70));
    s.output("out", s.add(Matmul{}, {a, b}, "out"));
    const std::vector<double> out = s.value_of("out");
    double last = 0;  // of batch 1, row 2, column 4
    for (int k = 0; k < 7; ++k) last += (35.0 + k) * (35 + k * 5 + 4);
    EXPECT_EQ(out.back(), last);
  }
}

TEST(InterpMatmul, TransposedOperandsGiveTheSameProduct) {
  const auto turned = [](const std::vector<double>& x, int rows, int columns) {
    std::vector<double> out;
    for (std::size_t first = 0; first < x.size(); first += rows * columns) {
      for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < rows; ++i) out.push_back(x[first + i * columns + j]);
      }
    }
    return out;
  };
  for (int ranks : {1, 2, 3}) {
    for (const auto& [a_slice, b_slice] : {std::pair{2, -1}, {1, 1}, {-1, 0}, {0, -1}}) {
      Sample s({ranks}, kSizes);
      const Layout of_a = a_slice < 0 ? s.whole() : sliced(a_slice);
      const Layout of_b = b_slice < 0 ? s.whole() : sliced(b_slice);
      const NodeId a = s.input("a", {f32, {kB, kK, kM}, of_a}, turned(ramp(42), 3, 7));
      const NodeId b = s.input("b", {f32, {kN, kK}, of_b}, turned(ramp(35, 1, -10), 7, 5));
      s.output("out", s.add(Matmul{{}, true, true}, {a, b}, "out"));
      EXPECT_EQ(s.value_of("out"), wanted()) << ranks << " ranks, a by " << a_slice;
    }
  }
}

TEST(InterpMatmul, RoundsOnceToTheDtypeOfTheOutput) {
  Sample s({1}, {{"M", 1}, {"K", 2}, {"N", 1}});
  const NodeId a = s.input("a", {f16, {kM, kK}, s.whole()}, {2048, 1});
  const NodeId b = s.input("b", {f16, {kK, kN}, s.whole()}, {1, 1});
  s.output("narrow", s.add(Matmul{}, {a, b}, "narrow"));
  s.output("wide", s.add(Matmul{f32}, {a, b}, "wide"));
  EXPECT_EQ(s.value_of("narrow"), std::vector<double>{2048});
  EXPECT_EQ(s.value_of("wide"), std::vector<double>{2049});
}

TEST(InterpMatmul, AnEmptySumIsZero) {
  Sample s({2}, {{"M", 2}, {"K", 0}, {"N", 2}});
  const NodeId a = s.input("a", {f32, {kM, kK}, s.whole()}, {});
  const NodeId b = s.input("b", {f32, {kK, kN}, s.whole()}, {});
  s.output("out", s.add(Matmul{}, {a, b}, "out"));
  EXPECT_EQ(s.value_of("out"), (std::vector<double>{0, 0, 0, 0}));
}

TEST(InterpMatmul, MagnitudeSumsAbsoluteProducts) {
  Sample s({1}, {{"M", 1}, {"K", 3}, {"N", 1}});
  const NodeId a = s.input("a", {f32, {kM, kK}, s.whole()}, {1, -2, 3});
  const NodeId b = s.input("b", {f32, {kK, kN}, s.whole()}, {4, 5, -6});
  s.output("out", s.add(Matmul{}, {a, b}, "out"));
  const Graph graph = s.graph();
  const Result result = s.run();
  const NodeId out = graph.find("out");
  const std::vector<const Pieces*> inputs = {&result.values[graph.node(out).inputs[0].index],
                                             &result.values[graph.node(out).inputs[1].index]};
  EXPECT_EQ(matmul_magnitude(graph, out, inputs, s.setting)[0], std::vector<double>{32});
}

}  // namespace
}  // namespace coconet::interp
