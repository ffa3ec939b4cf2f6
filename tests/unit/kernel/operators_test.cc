#include "coconet/kernel/operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace coconet::kernel {
namespace {

template <class T>
class FloatingOperators : public testing::Test {};
using Floating = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatingOperators, Floating);

TYPED_TEST(FloatingOperators, MinAndMaxOrderZerosAndKeepNans) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T values[] = {-inf,
                      T{-2},
                      T{-1},
                      -std::numeric_limits<T>::denorm_min(),
                      T{-0.0},
                      T{0},
                      std::numeric_limits<T>::denorm_min(),
                      T{1},
                      T{2},
                      inf};
  const int count = std::size(values);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      EXPECT_EQ(to_bits(kernel::min(values[i], values[j])), to_bits(values[std::min(i, j)]));
      EXPECT_EQ(to_bits(kernel::max(values[i], values[j])), to_bits(values[std::max(i, j)]));
    }
    for (const T n : {nan, -nan}) {
      EXPECT_TRUE(std::isnan(kernel::min(values[i], n)) && std::isnan(kernel::min(n, values[i])));
      EXPECT_TRUE(std::isnan(kernel::max(values[i], n)) && std::isnan(kernel::max(n, values[i])));
    }
  }
}

TYPED_TEST(FloatingOperators, AreTheMachinesOperations) {
  using T = TypeParam;
  EXPECT_EQ(kernel::add(T{1}, T{2}), T{3});
  EXPECT_EQ(kernel::sub(T{1}, T{2}), T{-1});
  EXPECT_EQ(kernel::mul(T{3}, T{2}), T{6});
  EXPECT_EQ(kernel::div(T{1}, T{3}), T{1} / T{3});
  EXPECT_TRUE(std::isinf(kernel::div(T{1}, T{0})));
  EXPECT_EQ(to_bits(kernel::neg(T{0})), to_bits(T{-0.0}));
  EXPECT_EQ(kernel::abs(T{-3}), T{3});
  EXPECT_EQ(to_bits(kernel::relu(T{-0.0})), to_bits(T{0}));
  EXPECT_EQ(kernel::relu(T{-3}), T{0});
  EXPECT_EQ(kernel::relu(T{3}), T{3});
  EXPECT_TRUE(std::isnan(kernel::relu(std::numeric_limits<T>::quiet_NaN())));
}

TYPED_TEST(FloatingOperators, ComparisonsWithNanAreFalseButForNe) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  EXPECT_FALSE(kernel::lt(nan, T{1}) || kernel::le(nan, nan) || kernel::gt(nan, T{1}) ||
               kernel::ge(nan, nan) || kernel::eq(nan, nan));
  EXPECT_TRUE(kernel::ne(nan, nan));
  EXPECT_TRUE(kernel::lt(T{1}, T{2}) && kernel::le(T{2}, T{2}) && kernel::gt(T{2}, T{1}) &&
              kernel::ge(T{2}, T{2}) && kernel::eq(T{-0.0}, T{0}));
}

template <class T>
class IntegerOperators : public testing::Test {};
using Integers = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(IntegerOperators, Integers);

TYPED_TEST(IntegerOperators, WrapAndNeverTrap) {
  using T = TypeParam;
  const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  EXPECT_EQ(kernel::add(high, T{1}), low);
  EXPECT_EQ(kernel::sub(low, T{1}), high);
  EXPECT_EQ(kernel::mul(high, T{2}), T{-2});
  EXPECT_EQ(kernel::mul(low, T{-1}), low);
  EXPECT_EQ(kernel::neg(low), low);
  EXPECT_EQ(kernel::abs(low), low);
  EXPECT_EQ(kernel::abs(T{-7}), T{7});
  EXPECT_EQ(kernel::div(T{-7}, T{2}), T{-3});
  EXPECT_EQ(kernel::div(T{7}, T{0}), T{0});
  EXPECT_EQ(kernel::div(low, T{-1}), low);
  EXPECT_EQ(kernel::min(low, high), low);
  EXPECT_EQ(kernel::max(low, high), high);
  EXPECT_EQ(kernel::relu(T{-5}), T{0});
}

TEST(Logic, IsLogic) {
  EXPECT_TRUE(logical_and(true, true) && logical_or(false, true) && logical_not(false));
  EXPECT_FALSE(logical_and(true, false) || logical_or(false, false) || logical_not(true));
  EXPECT_EQ(where(true, 1.0f, 2.0f), 1.0f);
  EXPECT_EQ(where(false, 1.0f, 2.0f), 2.0f);
}

template <class To, class From>
void expect_truncation(From x) {
  const double wide = static_cast<double>(x);
  if (std::isnan(wide)) {
    EXPECT_EQ(cast<To>(x), 0);
  } else if (wide >= -static_cast<double>(std::numeric_limits<To>::min())) {
    EXPECT_EQ(cast<To>(x), std::numeric_limits<To>::max()) << x;
  } else if (wide <= static_cast<double>(std::numeric_limits<To>::min())) {
    EXPECT_EQ(cast<To>(x), std::numeric_limits<To>::min()) << x;
  } else {
    EXPECT_EQ(cast<To>(x), static_cast<To>(x)) << x;
  }
}

TEST(Cast, FloatingToIntegerTruncatesAndSaturates) {
  for (const double x : {0.0, -0.0, 0.9, -0.9, 2.5, -2.5, 2147483647.0, 2147483648.0, -2147483648.0,
                         -2147483649.0, 9.2e18, 9223372036854775808.0, -9223372036854775808.0,
                         -1e19, 1e300, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    expect_truncation<std::int32_t>(x);
    expect_truncation<std::int64_t>(x);
    expect_truncation<std::int32_t>(static_cast<float>(x));
    expect_truncation<std::int64_t>(static_cast<float>(x));
  }
  EXPECT_EQ(cast<std::int32_t>(f16::from_float(-3.75f)), -3);
}

TEST(Cast, To16BitsRoundsOnce) {
  EXPECT_EQ(cast<f16>(1.0 + 0x1p-11 + 0x1p-40), 1.0f + 0x1p-10f);
  EXPECT_EQ(cast<f16>(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(cast<bf16>(bf16{0x3f80}), 1.0f);
  EXPECT_EQ(cast<f16>(std::int32_t{2049}), 2048.0f);
  EXPECT_EQ(cast<f16>(std::int32_t{65519}), 65504.0f);
  EXPECT_TRUE(std::isinf(cast<f16>(std::int32_t{65520})));
  // Halfway between two bf16 but for the last bit, which neither double nor float can hold.
  const std::int64_t halfway = (std::int64_t{1} << 60) + (std::int64_t{1} << 52);
  EXPECT_EQ(cast<bf16>(halfway), 0x1p60f);
  EXPECT_EQ(cast<bf16>(halfway + 1), 0x1p60f + 0x1p53f);
  EXPECT_EQ(cast<bf16>(-halfway - 1), -(0x1p60f + 0x1p53f));
  EXPECT_EQ(cast<bf16>(std::numeric_limits<std::int64_t>::min()), -0x1p63f);
  EXPECT_EQ(cast<bf16>(true), 1.0f);
}

TEST(Cast, TheRest) {
  EXPECT_EQ(cast<float>(std::int64_t{16777217}), 16777216.0f);
  EXPECT_EQ(cast<double>(0.1f), double{0.1f});
  EXPECT_EQ(cast<float>(1e300), std::numeric_limits<float>::infinity());
  EXPECT_EQ(cast<std::int32_t>(std::int64_t{0x100000005}), 5);
  EXPECT_EQ(cast<std::int64_t>(std::int32_t{-5}), -5);
  EXPECT_TRUE(cast<bool>(std::nanf("")) && cast<bool>(-1) && cast<bool>(0x1p-149f));
  EXPECT_FALSE(cast<bool>(-0.0f) || cast<bool>(0) || cast<bool>(f16{0x8000}));
  EXPECT_EQ(cast<float>(true), 1.0f);
  EXPECT_EQ(cast<std::int64_t>(true), 1);
}

// rounded<bf16> relies on it: where an operation on bf16 values gives a NaN, it ends in zeros. So
// its short form is from_float's value, of NaNs too.
void expect_rounded(float result, const char* name, float a, float b) {
  const float want = widen(bf16::from_float(result)), got = rounded<bf16>(result);
  ASSERT_TRUE(to_bits(got) == to_bits(want) || (std::isnan(got) && std::isnan(want)))
      << name << " of " << a << " and " << b << " gives " << std::hex << to_bits(result);
}

float bf16_of(unsigned bits) { return widen(bf16{static_cast<std::uint16_t>(bits)}); }

TEST(OperatorsOnBf16, OfEveryValueAreRoundedAsAnyFloat) {
  for (unsigned i = 0; i < 65536; ++i) {
    const float x = bf16_of(i);
    const std::pair<const char*, float> results[] = {
        {"neg", kernel::neg(x)},   {"abs", kernel::abs(x)},         {"sqrt", kernel::sqrt(x)},
        {"rsqrt", rsqrt(x)},       {"exp", kernel::exp(x)},         {"log", kernel::log(x)},
        {"tanh", kernel::tanh(x)}, {"erf", kernel::erf(x)},         {"relu", relu(x)},
        {"gelu", kernel::gelu(x)}, {"sigmoid", kernel::sigmoid(x)}, {"silu", kernel::silu(x)}};
    for (const auto& [name, result] : results) expect_rounded(result, name, x, x);
  }
}

TEST(OperatorsOnBf16, OfPairsAreRoundedAsAnyFloat) {
  // Every exponent and sign with a few mantissas, NaNs of both kinds among them; then a walk.
  std::vector<float> values;
  for (unsigned i = 0; i < 65536; i += 128) {
    for (unsigned low : {0u, 1u, 0x40u, 0x7fu}) values.push_back(bf16_of(i + low));
  }
  for (const float a : values) {
    for (std::size_t j = 0; j < values.size(); j += 3) {
      const float b = values[j];
      const std::pair<const char*, float> results[] = {
          {"add", add(a, b)}, {"sub", sub(a, b)}, {"mul", mul(a, b)},        {"div", div(a, b)},
          {"min", min(a, b)}, {"max", max(a, b)}, {"pow", kernel::pow(a, b)}};
      for (const auto& [name, result] : results) expect_rounded(result, name, a, b);
    }
  }
}

}  // namespace
}  // namespace coconet::kernel
