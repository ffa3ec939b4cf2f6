#include "coconet/interp/scalar.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "coconet/base/error.h"

namespace coconet::interp {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

ScalarValue of_kind(DTypeKind kind, double value) { return cast(scalar(value), kind); }

double apply2(PointwiseFn fn, DTypeKind kind, double a, double b) {
  const std::array<ScalarValue, 2> arguments = {of_kind(kind, a), of_kind(kind, b)};
  return to_double(apply(fn, arguments.data()));
}

double apply1(PointwiseFn fn, DTypeKind kind, double a) {
  const ScalarValue argument = of_kind(kind, a);
  return to_double(apply(fn, &argument));
}

TEST(Scalar, StorageKeepsEveryKind) {
  const DTypeKind kinds[] = {DTypeKind::f16, DTypeKind::bf16, DTypeKind::f32,    DTypeKind::f64,
                             DTypeKind::i32, DTypeKind::i64,  DTypeKind::boolean};
  for (DTypeKind kind : kinds) {
    std::array<std::byte, 24> bytes{};
    store(of_kind(kind, 1), bytes.data(), 2);
    EXPECT_EQ(load(kind, bytes.data(), 2).kind, kind);
    EXPECT_EQ(to_double(load(kind, bytes.data(), 2)), 1) << name_of(kind);
    EXPECT_EQ(to_double(load(kind, bytes.data(), 1)), 0) << name_of(kind);
  }
}

TEST(Scalar, SixteenBitResultsAreRoundedAfterEachOperation) {
  // 2049 lies between the f16 values 2048 and 2050; ties go to even.
  EXPECT_EQ(apply2(PointwiseFn::add, DTypeKind::f16, 2048, 1), 2048);
  EXPECT_EQ(apply2(PointwiseFn::add, DTypeKind::f32, 2048, 1), 2049);
  EXPECT_EQ(apply2(PointwiseFn::add, DTypeKind::bf16, 256, 1), 256);
  EXPECT_EQ(apply2(PointwiseFn::mul, DTypeKind::f16, 60000, 2), kInfinity);
}

TEST(Scalar, IntegersWrapAndTruncate) {
  EXPECT_EQ(apply2(PointwiseFn::add, DTypeKind::i32, 2147483647, 1), -2147483648.0);
  EXPECT_EQ(apply2(PointwiseFn::div, DTypeKind::i32, -7, 2), -3);
  EXPECT_EQ(apply2(PointwiseFn::div, DTypeKind::i64, 7, 0), 0);
  EXPECT_EQ(apply2(PointwiseFn::div, DTypeKind::i32, -2147483648.0, -1), -2147483648.0);
}

TEST(Scalar, MinAndMaxCarryNanAndOrderZeros) {
  for (PointwiseFn fn : {PointwiseFn::min, PointwiseFn::max}) {
    EXPECT_TRUE(std::isnan(apply2(fn, DTypeKind::f32, kNan, 1)));
    EXPECT_TRUE(std::isnan(apply2(fn, DTypeKind::f16, 1, kNan)));
  }
  EXPECT_TRUE(std::signbit(apply2(PointwiseFn::min, DTypeKind::f32, 0.0, -0.0)));
  EXPECT_FALSE(std::signbit(apply2(PointwiseFn::max, DTypeKind::f32, -0.0, 0.0)));
}

TEST(Scalar, FunctionsOfOneArgument) {
  EXPECT_EQ(apply1(PointwiseFn::sqrt, DTypeKind::f32, 9), 3);
  EXPECT_EQ(apply1(PointwiseFn::rsqrt, DTypeKind::f32, 16), 0.25);
  EXPECT_EQ(apply1(PointwiseFn::relu, DTypeKind::f32, -2), 0);
  EXPECT_EQ(apply1(PointwiseFn::sigmoid, DTypeKind::f32, 0), 0.5);
  EXPECT_EQ(apply1(PointwiseFn::silu, DTypeKind::f32, 0), 0);
  EXPECT_NEAR(apply1(PointwiseFn::exp, DTypeKind::f64, 1), std::exp(1.0), 1e-15);
  EXPECT_NEAR(apply1(PointwiseFn::log, DTypeKind::f64, 3), std::log(3.0), 1e-15);
  EXPECT_NEAR(apply1(PointwiseFn::tanh, DTypeKind::f32, 0.5), std::tanh(0.5), 1e-7);
  EXPECT_NEAR(apply1(PointwiseFn::erf, DTypeKind::f32, 0.5), std::erf(0.5), 1e-7);
  EXPECT_NEAR(apply1(PointwiseFn::gelu, DTypeKind::f32, 1), 0.8413447, 1e-6);
  EXPECT_EQ(apply1(PointwiseFn::abs, DTypeKind::i32, -5), 5);
  EXPECT_EQ(apply1(PointwiseFn::neg, DTypeKind::f16, 5), -5);
}

TEST(Scalar, PowTakesAnIntegerExponent) {
  const std::array<ScalarValue, 2> arguments = {scalar(0.5f), scalar(std::int32_t{3})};
  EXPECT_EQ(to_double(apply(PointwiseFn::pow, arguments.data())), 0.125);
  EXPECT_EQ(apply2(PointwiseFn::pow, DTypeKind::f32, 2, 10), 1024);
  const std::array<ScalarValue, 2> integers = {scalar(std::int64_t{3}), scalar(std::int32_t{4})};
  EXPECT_EQ(to_double(apply(PointwiseFn::pow, integers.data())), 81);
}

TEST(Scalar, ComparisonsLogicAndWhere) {
  EXPECT_EQ(apply2(PointwiseFn::lt, DTypeKind::f32, 1, 2), 1);
  EXPECT_EQ(apply2(PointwiseFn::eq, DTypeKind::f32, kNan, kNan), 0);
  EXPECT_EQ(apply2(PointwiseFn::ne, DTypeKind::boolean, 1, 0), 1);
  EXPECT_EQ(apply2(PointwiseFn::logical_and, DTypeKind::boolean, 1, 0), 0);
  EXPECT_EQ(apply2(PointwiseFn::logical_or, DTypeKind::boolean, 1, 0), 1);
  EXPECT_EQ(apply1(PointwiseFn::logical_not, DTypeKind::boolean, 1), 0);
  const std::array<ScalarValue, 3> chosen = {scalar(false), scalar(1.0f), scalar(2.0f)};
  EXPECT_EQ(to_double(apply(PointwiseFn::where, chosen.data())), 2);
}

TEST(Scalar, WhatInferenceRefusesIsAnInternalError) {
  const std::array<ScalarValue, 2> mixed = {scalar(1.0f), scalar(1.0)};
  EXPECT_THROW(apply(PointwiseFn::add, mixed.data()), InternalError);
  const ScalarValue integer = scalar(std::int32_t{1});
  EXPECT_THROW(apply(PointwiseFn::exp, &integer), InternalError);
  const std::array<ScalarValue, 2> bools = {scalar(true), scalar(true)};
  EXPECT_THROW(apply(PointwiseFn::add, bools.data()), InternalError);
}

TEST(Scalar, CastsRoundOnceAndSaturate) {
  EXPECT_EQ(to_double(cast(scalar(2049.0f), DTypeKind::f16)), 2048);
  // Just above the tie of 2048 and 2050: over f32 it would round to the tie first, then to 2048.
  EXPECT_EQ(to_double(cast(scalar(2049.0 + 1e-9), DTypeKind::f16)), 2050);
  EXPECT_EQ(cast(scalar(-2.9f), DTypeKind::i32).i32, -2);
  EXPECT_EQ(cast(scalar(1e20f), DTypeKind::i32).i32, std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(cast(scalar(kNan), DTypeKind::i64).i64, 0);
  EXPECT_TRUE(cast(scalar(0.5f), DTypeKind::boolean).boolean);
  EXPECT_EQ(to_double(cast(scalar(true), DTypeKind::f16)), 1);
}

TEST(Scalar, FoldsBeginAtTheirIdentity) {
  EXPECT_EQ(to_double(identity(Fold::sum, DTypeKind::f16)), 0);
  EXPECT_EQ(to_double(identity(Fold::prod, DTypeKind::i64)), 1);
  EXPECT_EQ(to_double(identity(Fold::max, DTypeKind::bf16)), -kInfinity);
  EXPECT_EQ(identity(Fold::min, DTypeKind::i32).i32, std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(to_double(fold_step(Fold::max, scalar(1.0f), scalar(3.0f))), 3);
  EXPECT_TRUE(std::isnan(to_double(fold_step(Fold::min, scalar(1.0f), scalar(kNan)))));
  EXPECT_THROW(fold_step(Fold::sum, of_kind(DTypeKind::f16, 1), of_kind(DTypeKind::f16, 1)),
               InternalError);
}

TEST(Scalar, LiteralsAreRoundedOnce) {
  EXPECT_EQ(to_double(value_of(Constant{0.1, f32})), 0.1f);
  EXPECT_EQ(to_double(value_of(Constant{std::int64_t{7}, f16})), 7);
  EXPECT_EQ(value_of(Constant{true, boolean}).boolean, true);
  EXPECT_THROW(value_of(Constant{std::int64_t{1} << 40, i32}), UserError);
  EXPECT_EQ(to_double(value_of(AxisSize{1, f32}, MeshSizes{{2, 3}})), 3);
}

}  // namespace
}  // namespace coconet::interp
