#include "coconet/interp/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Comparison compare_values(const Values& got, const Values& want) {
  return compare(DTypeKind::f32, bytes_from(DTypeKind::f32, got), bytes_from(DTypeKind::f32, want));
}

TEST(Compare, AnyNanEqualsAnyNanButZerosDiffer) {
  EXPECT_TRUE(compare_values({1, kNan, kInfinity}, {1, -kNan, kInfinity}).equal());
  EXPECT_FALSE(compare_values({0.0}, {-0.0}).equal());
  EXPECT_EQ(compare_values({kNan}, {1}).largest, kInfinity);
  EXPECT_EQ(compare_values({kInfinity}, {-kInfinity}).largest, kInfinity);
}

TEST(Compare, TellsTheFirstAndTheLargestDifference) {
  const Pieces got = {bytes_from(DTypeKind::f32, {1, 2}), bytes_from(DTypeKind::f32, {3, 4, 9})};
  const Pieces want = {bytes_from(DTypeKind::f32, {1, 2}), bytes_from(DTypeKind::f32, {3, 5, 2})};
  const Comparison comparison = compare(DTypeKind::f32, got, want);
  ASSERT_FALSE(comparison.equal());
  EXPECT_EQ(comparison.first->text(), "rank 1, element 1: got 4, want 5");
  EXPECT_EQ(comparison.largest, 7);
}

TEST(Compare, ReplicasHoldTheSameBits) {
  const Setting setting{{{"N", 2}}, {{2, 2}}};
  const TensorType type{f32, {Dim::named("N")}, sliced(0, 0, 2)};  // replicated on the second axis
  const auto piece = [](double value) { return bytes_from(DTypeKind::f32, {value}); };
  EXPECT_FALSE(replica_difference(type, setting, {piece(1), piece(1), piece(2), piece(2)}));
  const auto found = replica_difference(type, setting, {piece(1), piece(1), piece(2), piece(3)});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->text(), "rank 3, element 0: got 3, want 2");
}

// Checks `got` as the product of a[1,K] and b[K,1] on one rank.
NodeCheck check_product(DType dtype, const Values& a, const Values& b, double got) {
  Sample s({1}, {{"M", 1}, {"K", static_cast<std::int64_t>(a.size())}});
  const Dim m = Dim::named("M"), k = Dim::named("K");
  const NodeId x = s.input("x", {dtype, {m, k}, s.whole()}, a);
  const NodeId y = s.input("y", {dtype, {k, m}, s.whole()}, b);
  s.output("out", s.add(Matmul{}, {x, y}, "out"));
  const Graph graph = s.graph();
  const Result result = s.run();
  const NodeId out = graph.find("out");
  std::vector<const Pieces*> inputs;
  for (NodeId input : graph.node(out).inputs) inputs.push_back(&result.values[input.index]);
  return check_node(graph, out, inputs, {bytes_from(dtype.kind, {got})}, s.setting);
}

TEST(Compare, AMatmulMayDifferByItsBound) {
  const Values ones(16, 1);
  const double unit = std::ldexp(1, -20);  // in the last place of f32 values from 8 to 16
  EXPECT_TRUE(check_product(f32, ones, ones, 16).within);
  // (16 + 2) 2^-24 * 16 = 18 units of 2^-20, and half a unit of the output, 2^-20 for 16.
  EXPECT_TRUE(check_product(f32, ones, ones, 16 + 18 * unit).within);
  const NodeCheck outside = check_product(f32, ones, ones, 16 + 20 * unit);
  EXPECT_FALSE(outside.within);
  EXPECT_EQ(outside.largest, 20 * unit);
  ASSERT_TRUE(outside.first_outside.has_value());
  EXPECT_EQ(outside.first_outside->index, 0);
}

TEST(Compare, AMatmulOfSixteenBitsMayDifferByHalfAUnit) {
  EXPECT_TRUE(check_product(f16, {2048, 1}, {1, 1}, 2048).within);
  EXPECT_TRUE(check_product(f16, {2048, 1}, {1, 1}, 2050).within);
  EXPECT_FALSE(check_product(f16, {2048, 1}, {1, 1}, 2052).within);
  EXPECT_TRUE(check_product(f16, {256, 0}, {256, 0}, kInfinity).within);
  EXPECT_FALSE(check_product(f16, {256, 0}, {128, 0}, kInfinity).within);
}

TEST(Compare, AMatmulBeyondItsRangeIsInfinityOfItsSign) {
  EXPECT_TRUE(check_product(f16, {300, 0}, {300, 0}, kInfinity).within);
  EXPECT_TRUE(check_product(f16, {-4e4, 0}, {4e4, 0}, -kInfinity).within);
  EXPECT_FALSE(check_product(f16, {300, 0}, {300, 0}, -kInfinity).within);
  EXPECT_FALSE(check_product(f16, {300, 0}, {300, 0}, 65504).within);
  EXPECT_FALSE(check_product(f16, {300, 0}, {300, 0}, kNan).within);
}

TEST(Compare, AMatmulWhoseSumsMayLeaveTheAccumulatorIsNanOrCloseToItsValue) {
  const Values a = {1e20, -1e20}, b = {1e20, 1e20};  // 1e40 - 1e40
  EXPECT_TRUE(check_product(f32, a, b, kNan).within);
  EXPECT_TRUE(check_product(f32, a, b, kInfinity).within);
  EXPECT_TRUE(check_product(f32, a, b, 0).within);
  EXPECT_FALSE(check_product(f32, a, b, 1e36).within);
}

TEST(Compare, AMatmulWithNanOrInfinityMustGiveIt) {
  EXPECT_TRUE(check_product(f32, {kNan, 1}, {1, 1}, kNan).within);
  EXPECT_FALSE(check_product(f32, {kNan, 1}, {1, 1}, 1).within);
  EXPECT_TRUE(check_product(f32, {kInfinity, 1}, {1, 1}, kInfinity).within);
  EXPECT_FALSE(check_product(f32, {1, 1}, {1, 1}, kNan).within);
}

// 3.4e38 * -9e18 leaves the range downwards; added to the infinity it gives NaN.
TEST(Compare, AMatmulWithInfinityMayGiveNanWhereItsFiniteSumsLeaveTheAccumulator) {
  const Values a = {3.4e38, kInfinity}, b = {-9e18, 1};
  EXPECT_TRUE(check_product(f32, a, b, kNan).within);
  EXPECT_TRUE(check_product(f32, a, b, kInfinity).within);
  EXPECT_FALSE(check_product(f32, a, b, -kInfinity).within);
  EXPECT_FALSE(check_product(f32, a, b, 1).within);
  EXPECT_FALSE(check_product(f32, {3, kInfinity}, {-9, 1}, kNan).within);
  EXPECT_FALSE(check_product(f32, {3.4e38, kNan}, b, kInfinity).within);
  EXPECT_FALSE(check_product(f32, {3.4e38, kInfinity}, {-9e18, 0}, kInfinity).within);  // 0 inf
  // Beyond f64 the reference's own order is not known to be that of the sums either.
  EXPECT_TRUE(check_product(f64, {1e300, -1e300}, {1e300, 1e300}, kInfinity).within);
}

TEST(Compare, EverythingElseIsExact) {
  Sample s({2}, {{"N", 2}});
  const NodeId x = s.input("x", {f32, {Dim::named("N")}, sliced(0)}, {4, 9});
  s.output("out", s.pointwise(PointwiseFn::sqrt, {x}, "out"));
  const Graph graph = s.graph();
  const Result result = s.run();
  const NodeId out = graph.find("out");
  const std::vector<const Pieces*> inputs = {&result.values[graph.node(out).inputs[0].index]};
  Pieces got = result.outputs.at("out");
  EXPECT_TRUE(check_node(graph, out, inputs, got, s.setting).within);
  got[1] = bytes_from(DTypeKind::f32, {std::nextafterf(3, 4)});
  const NodeCheck changed = check_node(graph, out, inputs, got, s.setting);
  EXPECT_FALSE(changed.within);
  EXPECT_EQ(changed.first_outside->rank, 1);
}

}  // namespace
}  // namespace coconet::interp
