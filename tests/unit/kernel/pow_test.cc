#include "coconet/kernel/pow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/kernel/ulp.h"

namespace coconet::kernel {
namespace {

// C99's special cases are those of std::pow. Zeros, infinities and ones, with their signs, must be
// its own; other results may differ in the last place.
template <class F>
void expect_same_special(F x, F y) {
  const F got = kernel::pow(x, y);
  const F want = std::pow(x, y);
  if (want == 0 || std::isinf(want) || std::fabs(want) == 1) {
    EXPECT_EQ(to_bits(got), to_bits(want)) << x << " " << y << ": " << got << " not " << want;
  } else {
    EXPECT_LE(ulp_error(got, std::pow(static_cast<long double>(x), static_cast<long double>(y))),
              0.6)
        << x << " " << y << ": " << got << " not " << want;
  }
}

template <class F>
std::vector<F> special_values() {
  using Limits = std::numeric_limits<F>;
  const F integer_limit = F{2} / Limits::epsilon();  // 2^digits: from here on all are even
  std::vector<F> values = {F{0},
                           Limits::denorm_min(),
                           Limits::min(),
                           F{0.5},
                           F{1},
                           F{1} + Limits::epsilon(),
                           F{1.5},
                           F{2},
                           F{3},
                           F{4},
                           integer_limit / 2 - F{0.5},
                           integer_limit / 2,
                           integer_limit / 2 + 1,
                           integer_limit - 1,
                           integer_limit,
                           integer_limit * 2,
                           Limits::max(),
                           Limits::infinity(),
                           Limits::quiet_NaN()};
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

TEST(Pow, SpecialCasesAreC99s) {
  for (const float x : special_values<float>()) {
    for (const float y : special_values<float>()) expect_same_special(x, y);
  }
}

TEST(PowDouble, SpecialCasesAreC99s) {
  for (const double x : special_values<double>()) {
    for (const double y : special_values<double>()) expect_same_special(x, y);
  }
}

TEST(Pow, StaysWithinItsBoundOnAGrid) {
  double worst = 0;
  for (int i = 0; i < 1500; ++i) {
    const float x = from_bits(static_cast<std::uint32_t>(i * 1424381u + 1u) & 0x7fffffffu);
    if (!(x < std::numeric_limits<float>::infinity())) continue;
    for (int j = 0; j < 1500; ++j) {
      const float y = static_cast<float>(j - 750) * 0.0513f;
      worst = std::max(worst, ulp_error(kernel::pow(x, y), std::pow(double{x}, double{y})));
    }
  }
  EXPECT_LE(worst, 0.501);
}

// The bases of the optimizers' bias corrections, and bases near 1 with large exponents.
TEST(Pow, IntegerExponents) {
  double worst = 0;
  for (const float x : {0.9f, 0.99f, 0.999f, 0.9999f, 1.0001f, -0.999f, 2.0f, -3.0f, 1e-3f}) {
    for (std::int32_t n = -2000; n < 200000; n += 7) {
      worst = std::max(worst, ulp_error(kernel::pow(x, n), std::pow(double{x}, double(n))));
    }
  }
  EXPECT_LE(worst, 0.501);
  EXPECT_EQ(kernel::pow(3.0f, 4), 81.0f);
  EXPECT_EQ(kernel::pow(-2.0f, 3), -8.0f);
  EXPECT_EQ(kernel::pow(-2.0f, -1), -0.5f);
  EXPECT_EQ(kernel::pow(0.0f, 0), 1.0f);
  EXPECT_EQ(kernel::pow(-1.0f, std::numeric_limits<std::int32_t>::max()), -1.0f);
  EXPECT_EQ(kernel::pow(-1.0f, std::numeric_limits<std::int32_t>::min()), 1.0f);
  EXPECT_EQ(kernel::pow(5.0, 3), 125.0);
}

TEST(PowDouble, StaysWithinItsBoundOnSamples) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-1070, 1023), power(-740, 709), near_one(-1, 1);
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    const double x =
        i % 3 == 0 ? std::exp2(exponent(random)) : 1 + near_one(random) * std::exp2(-(i % 50));
    if (!(x > 0) || x == 1) continue;
    const double y = power(random) / std::log(x);
    const double error = ulp_error(
        kernel::pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)));
    if (error > worst) worst = error;
    ASSERT_LE(error, 0.9) << x << " " << y;
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST(PowDouble, ExactPowersAreExact) {
  for (int base = 2; base < 100; ++base) {
    double want = 1;
    for (int n = 0; want * base < 0x1p53; ++n) {
      ASSERT_EQ(kernel::pow(double(base), double(n)), want) << base << " " << n;
      want *= base;
    }
  }
}

TEST(PowInteger, WrapsAndTruncates) {
  EXPECT_EQ(kernel::pow(3, 5), 243);
  EXPECT_EQ(kernel::pow(-2, 31), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(kernel::pow(2, 32), 0);
  EXPECT_EQ(kernel::pow(7, 0), 1);
  EXPECT_EQ(kernel::pow(2, -1), 0);
  EXPECT_EQ(kernel::pow(0, -1), 0);
  EXPECT_EQ(kernel::pow(1, -5), 1);
  EXPECT_EQ(kernel::pow(-1, -5), -1);
  EXPECT_EQ(kernel::pow(std::int64_t{10}, 18), 1000000000000000000);
}

}  // namespace
}  // namespace coconet::kernel
