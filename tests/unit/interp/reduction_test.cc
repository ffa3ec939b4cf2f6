// Reductions inside a tensor, norms, block sums.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coconet/graph/expand.h"
#include "coconet/interp/compare.h"
#include "coconet/interp/global_tensor.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

const Dim kN = Dim::named("N"), kR = Dim::named("R"), kC = Dim::named("C");

std::vector<double> reduced(ReduceFn fn, std::vector<int> dims, const Layout& layout, int ranks,
                            const std::vector<double>& values = ramp(12)) {
  Sample s({ranks}, {{"R", 3}, {"C", 4}});
  const NodeId x = s.input("x", {f32, {kR, kC}, layout}, values);
  s.output("out", s.add(Reduce{fn, std::move(dims)}, {x}, "out"));
  return s.value_of("out");
}

TEST(Reduction, OverDimsWholeAndSliced) {
  using Values = std::vector<double>;
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (const Layout& layout : {Layout(1), sliced(0), sliced(1)}) {
      EXPECT_EQ(reduced(ReduceFn::sum, {1}, layout, ranks), (Values{6, 22, 38}));
      EXPECT_EQ(reduced(ReduceFn::max, {0}, layout, ranks), (Values{8, 9, 10, 11}));
      EXPECT_EQ(reduced(ReduceFn::min, {0, 1}, layout, ranks), Values{0});
      EXPECT_EQ(reduced(ReduceFn::sum, {}, layout, ranks), Values{66});
    }
    EXPECT_EQ(reduced(ReduceFn::mean, {1}, sliced(0), ranks), (Values{1.5, 5.5, 9.5}));
    EXPECT_EQ(reduced(ReduceFn::mean, {}, Layout(1), ranks), Values{5.5});
    EXPECT_EQ(reduced(ReduceFn::prod, {1}, sliced(0), ranks), (Values{0, 840, 7920}));
  }
}

TEST(Reduction, MinAndMaxAreNanIfAnyElementIs) {
  std::vector<double> values = ramp(12);
  values[7] = std::numeric_limits<double>::quiet_NaN();
  for (int ranks : {1, 2, 3}) {
    for (ReduceFn fn : {ReduceFn::min, ReduceFn::max}) {
      EXPECT_TRUE(std::isnan(reduced(fn, {}, sliced(0), ranks, values)[0]));
      const std::vector<double> rows = reduced(fn, {1}, sliced(0), ranks, values);
      EXPECT_FALSE(std::isnan(rows[0]));
      EXPECT_TRUE(std::isnan(rows[1]));
    }
  }
}

TEST(Reduction, RowsAreFoldedInSixteenLanes) {
  // Lane 0 has 1e8 and -1e8, lane 1 has the 1: in column order the 1 would be lost.
  std::vector<double> row(17, 0);
  row[0] = 1e8;
  row[1] = 1;
  row[16] = -1e8;
  Sample s({1}, {{"R", 1}, {"C", 17}});
  const NodeId x = s.input("x", {f32, {kR, kC}, s.whole()}, row);
  s.output("out", s.add(Reduce{ReduceFn::sum, {1}}, {x}, "out"));
  EXPECT_EQ(s.value_of("out"), std::vector<double>{1});
}

TEST(Reduction, SixteenBitSumsAccumulateInF32) {
  Sample s({1}, {{"N", 4096}});
  const NodeId x = s.input("x", {f16, {kN}, s.whole()}, std::vector<double>(4096, 1));
  s.output("out", s.add(Reduce{ReduceFn::sum, {}}, {x}, "out"));
  EXPECT_EQ(s.value_of("out"), std::vector<double>{4096});
}

TEST(Reduction, EmptyTensorsGiveTheIdentity) {
  Sample s({2}, {{"R", 2}, {"C", 0}});
  const NodeId x = s.input("x", {f32, {kR, kC}, s.whole()}, {});
  s.output("sum", s.add(Reduce{ReduceFn::sum, {1}}, {x}, "sum"));
  s.output("max", s.add(Reduce{ReduceFn::max, {}}, {x}, "max"));
  EXPECT_EQ(s.value_of("sum"), (std::vector<double>{0, 0}));
  EXPECT_EQ(s.value_of("max")[0], -std::numeric_limits<double>::infinity());
}

// norm and sum of an [N] tensor as a program writes them, on `ranks` ranks.
std::vector<double> norm_and_sum(std::int64_t n, DType dtype, const Layout& layout, int ranks) {
  Sample s({ranks}, {{"N", n}});
  const NodeId x = s.input("x", {dtype, {kN}, layout}, noise(n, 7));
  s.output("norm", s.add_visible(Norm{}, {x}, "norm"));
  s.output("sum", s.add_visible(Reduce{ReduceFn::sum, {}}, {x}, "sum"));
  return {s.value_of("norm")[0], s.value_of("sum")[0]};
}

TEST(Reduction, BlockNormsAreEqualForReplicatedAndFlatSlicesOnAnyRankCount) {
  for (std::int64_t n : {0, 1, 1023, 1024, 1025, 5000}) {
    for (const DType& dtype : {f32, f16, bf16, f64}) {
      const std::vector<double> want = norm_and_sum(n, dtype, Layout(1), 1);
      for (int ranks = 1; ranks <= 8; ++ranks) {
        EXPECT_EQ(norm_and_sum(n, dtype, Layout(1), ranks), want) << n << " on " << ranks;
        EXPECT_EQ(norm_and_sum(n, dtype, flat(), ranks), want) << n << " on " << ranks;
      }
    }
  }
}

TEST(Reduction, NormIsTheRootOfTheSumOfSquares) {
  Sample s({2}, {{"N", 2}});
  const NodeId x = s.input("x", {f16, {kN}, s.whole()}, {300, 400});  // the squares exceed f16
  s.output("out", s.add(Norm{}, {x}, "out"));
  EXPECT_EQ(s.value_of("out"), std::vector<double>{500});
}

TEST(Reduction, BlockSumsOfNestedFlatSlicesAreThoseOfTheWhole) {
  const auto sums = [](const Layout& layout) {
    Sample s({2, 3}, {{"N", 9000}});
    const NodeId x = s.input("x", {f32, {kN}, layout}, noise(9000, 1));
    s.output("out", s.add(BlockReduce{Fold::sum, true}, {x}, "out"));
    return s.value_of("out");
  };
  const std::vector<double> want = sums(Layout(2));
  EXPECT_EQ(want.size(), 9u);
  EXPECT_EQ(sums(flat(0, 2)), want);
  EXPECT_EQ(sums(flat(0, 2).with(1, Sliced{Slice::all()})), want);
}

TEST(Reduction, SoftmaxAndRmsNormOfRows) {
  const std::vector<double> x = noise(66, 2), gamma = noise(33, 3);
  const auto rows = [&](bool shares, const Layout& layout, int ranks, DType dtype) {
    Sample s({ranks}, {{"R", 2}, {"C", 33}});
    const NodeId in = s.input("x", {dtype, {kR, kC}, layout}, x);
    const NodeId g = s.input("gamma", {dtype, {kC}, s.whole()}, gamma);
    const DType wide = accumulator_of(dtype.kind);
    s.output("out", shares ? s.add(Softmax{}, {in}, "out")
                           : s.add(RmsNorm{}, {in, g, s.literal(1e-5, wide)}, "out"));
    return s.value_of("out");
  };
  double sum = 0, squares = 0;
  for (int j = 0; j < 33; ++j) sum += std::exp(x[j]), squares += x[j] * x[j] / 33;
  for (const DType& dtype : {f32, f64, f16}) {
    const double bound = dtype == f64 ? 1e-14 : dtype == f32 ? 1e-6 : 1e-3;
    EXPECT_NEAR(rows(true, Layout(1), 1, dtype)[4], std::exp(x[4]) / sum, bound);
    EXPECT_NEAR(rows(false, Layout(1), 1, dtype)[4], x[4] / std::sqrt(squares + 1e-5) * gamma[4],
                bound);
    for (bool shares : {false, true}) {
      EXPECT_EQ(rows(shares, sliced(0), 3, dtype), rows(shares, Layout(1), 1, dtype));
    }
  }
}

TEST(Reduction, LayerNormOfRows) {
  const auto rows = [](const Layout& layout, int ranks, DType dtype) {
    Sample s({ranks}, {{"R", 5}, {"C", 33}});
    const NodeId x = s.input("x", {dtype, {kR, kC}, layout}, noise(165, 2));
    const NodeId gamma = s.input("gamma", {dtype, {kC}, s.whole()}, noise(33, 3));
    const NodeId beta = s.input("beta", {dtype, {kC}, s.whole()}, noise(33, 4));
    const DType wide = accumulator_of(dtype.kind);
    s.output("out", s.add(LayerNorm{}, {x, gamma, beta, s.literal(1e-5, wide)}, "out"));
    return s.value_of("out");
  };
  for (const DType& dtype : {f32, f64, bf16}) {
    const std::vector<double> want = rows(Layout(1), 1, dtype);
    for (int ranks : {2, 3, 7}) EXPECT_EQ(rows(sliced(0), ranks, dtype), want);
  }
  const std::vector<double> exact = rows(Layout(1), 1, f64), got = rows(Layout(1), 1, f32);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], exact[i], 1e-6);
  const std::vector<double> x = noise(165, 2), gamma = noise(33, 3), beta = noise(33, 4);
  double mean = 0, variance = 0;
  for (int j = 0; j < 33; ++j) mean += x[j] / 33;
  for (int j = 0; j < 33; ++j) variance += (x[j] - mean) * (x[j] - mean) / 33;
  EXPECT_NEAR(exact[4], (x[4] - mean) / std::sqrt(variance + 1e-5) * gamma[4] + beta[4], 1e-14);
}

}  // namespace
}  // namespace coconet::interp
