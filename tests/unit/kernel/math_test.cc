#include "coconet/kernel/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "tests/unit/kernel/ulp.h"

namespace coconet::kernel {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double sigmoid_reference(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
long double sigmoid_reference(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class R>
R gelu_reference(R x) {
  return x / 2 * std::erfc(-x * static_cast<R>(0.70710678118654752440084436210484904L));
}

// A function, its reference, and its bound where the result is not a product with a subnormal
// factor, which is for all x > lowest.
struct FloatFunction {
  const char* name;
  float (*function)(float);
  double (*reference)(double);
  double bound;
  float lowest = -kInf;
};

const FloatFunction kFloatFunctions[] = {
    {"exp", [](float x) { return kernel::exp(x); }, [](double x) { return std::exp(x); }, 0.85},
    {"log", [](float x) { return kernel::log(x); }, [](double x) { return std::log(x); }, 0.90},
    {"tanh", [](float x) { return kernel::tanh(x); }, [](double x) { return std::tanh(x); }, 1.40},
    {"erf", [](float x) { return kernel::erf(x); }, [](double x) { return std::erf(x); }, 1.20},
    {"sigmoid", [](float x) { return kernel::sigmoid(x); },
     [](double x) { return sigmoid_reference(x); }, 2.50},
    {"silu", [](float x) { return kernel::silu(x); },
     [](double x) { return x * sigmoid_reference(x); }, 3.30, -87.0f},
    {"gelu", [](float x) { return kernel::gelu(x); }, [](double x) { return gelu_reference(x); },
     8.00, -12.5f},
    {"sqrt", [](float x) { return kernel::sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.50},
    {"rsqrt", [](float x) { return kernel::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); },
     1.50},
};

struct Worst {
  double error = 0;
  float at = 0;
};

// ulp_error without its library calls, where all is finite.
double fast_ulp_error(float got, double want) {
  const double size = std::fabs(want);
  if (!(size < 0x1p127) || !(std::fabs(got) < 0x1p127f)) return ulp_error(got, want);
  const int exponent = static_cast<int>(to_bits(size) >> 52) - 1023;
  const int last_place = std::max(exponent - 23, -149);
  const double scale = from_bits(static_cast<std::uint64_t>(1023 - last_place) << 52);
  return std::fabs(static_cast<double>(got) - want) * scale;
}

// Over every step-th pattern of a float.
Worst worst_error(const FloatFunction& f, std::uint64_t step) {
  Worst worst;
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += step) {
    const float x = from_bits(static_cast<std::uint32_t>(bits));
    if (x <= f.lowest) continue;
    const double error = fast_ulp_error(f.function(x), f.reference(x));
    if (error > worst.error) worst = {error, x};
  }
  return worst;
}

TEST(UlpError, FastFormAgrees) {
  for (const double want :
       {0.0, 0x1p-150, -0x1.8p-130, 0x1.fffffep-127, 1.0, 0x1.ffffffp3, -3e38}) {
    for (const float got : {0.0f, 0x1p-149f, -0x1p-130f, 0x1p-126f, 1.0f, 16.0f, -3e38f}) {
      EXPECT_EQ(fast_ulp_error(got, want), ulp_error(got, want)) << got << " " << want;
    }
  }
}

// About 2^22 arguments, which the stride spreads over all exponents.
TEST(MathFloat, StaysWithinItsBounds) {
  for (const FloatFunction& f : kFloatFunctions) {
    const Worst worst = worst_error(f, 1021);
    EXPECT_LE(worst.error, f.bound) << f.name << " at " << worst.at;
  }
}

// All 2^32 arguments; takes half an hour. Run with --gtest_also_run_disabled_tests.
TEST(MathFloat, DISABLED_StaysWithinItsBoundsForAllArguments) {
  for (const FloatFunction& f : kFloatFunctions) {
    const Worst worst = worst_error(f, 1);
    std::printf("%-8s %.4f ulp at %a\n", f.name, worst.error, static_cast<double>(worst.at));
    std::fflush(stdout);
    EXPECT_LE(worst.error, f.bound) << f.name << " at " << worst.at;
  }
}

TEST(MathFloat, SpecialValues) {
  EXPECT_EQ(kernel::exp(0.0f), 1.0f);
  EXPECT_EQ(kernel::exp(kInf), kInf);
  EXPECT_EQ(kernel::exp(-kInf), 0.0f);
  EXPECT_EQ(kernel::exp(1e30f), kInf);
  EXPECT_EQ(kernel::log(0.0f), -kInf);
  EXPECT_EQ(kernel::log(-0.0f), -kInf);
  EXPECT_EQ(to_bits(kernel::log(1.0f)), 0u);
  EXPECT_EQ(kernel::log(kInf), kInf);
  EXPECT_TRUE(std::isnan(kernel::log(-1.0f)));
  EXPECT_TRUE(std::isnan(kernel::log(-kInf)));
  EXPECT_EQ(to_bits(kernel::tanh(-0.0f)), to_bits(-0.0f));
  EXPECT_EQ(kernel::tanh(kInf), 1.0f);
  EXPECT_EQ(kernel::tanh(-kInf), -1.0f);
  EXPECT_EQ(to_bits(kernel::erf(-0.0f)), to_bits(-0.0f));
  EXPECT_EQ(kernel::erf(-kInf), -1.0f);
  EXPECT_EQ(kernel::sigmoid(kInf), 1.0f);
  EXPECT_EQ(kernel::sigmoid(-kInf), 0.0f);
  EXPECT_EQ(kernel::sigmoid(0.0f), 0.5f);
  EXPECT_EQ(kernel::gelu(kInf), kInf);
  EXPECT_EQ(to_bits(kernel::gelu(-0.0f)), to_bits(-0.0f));
  EXPECT_EQ(kernel::silu(kInf), kInf);
  EXPECT_TRUE(std::isnan(kernel::sqrt(-1.0f)));
  EXPECT_EQ(kernel::rsqrt(0.0f), kInf);
  EXPECT_EQ(kernel::rsqrt(-0.0f), -kInf);
  EXPECT_EQ(kernel::rsqrt(kInf), 0.0f);
}

TEST(MathFloat, NanStaysNan) {
  for (const FloatFunction& f : kFloatFunctions) {
    EXPECT_TRUE(std::isnan(f.function(kNaN))) << f.name;
    EXPECT_TRUE(std::isnan(f.function(-kNaN))) << f.name;
    EXPECT_TRUE(std::isnan(f.function(from_bits(0x7f800001u)))) << f.name;
  }
}

TEST(MathFloat, SubnormalResultsAndArguments) {
  EXPECT_GT(kernel::exp(-103.0f), 0.0f);
  EXPECT_LT(kernel::exp(-88.0f), std::numeric_limits<float>::min());
  EXPECT_EQ(kernel::exp(-104.0f), 0.0f);
  EXPECT_EQ(kernel::tanh(0x1p-149f), 0x1p-149f);
  EXPECT_NEAR(kernel::log(0x1p-149f), -149 * std::log(2.0), 1e-5);
}

struct DoubleFunction {
  const char* name;
  double (*function)(double);
  long double (*reference)(long double);
  double bound;
  double low, high;  // of the samples
};

const DoubleFunction kDoubleFunctions[] = {
    {"exp", [](double x) { return kernel::exp(x); }, [](long double x) { return std::exp(x); },
     0.95, -746, 710},
    {"log", [](double x) { return kernel::log(x); }, [](long double x) { return std::log(x); },
     0.90, 0, 1e3},
    {"tanh", [](double x) { return kernel::tanh(x); }, [](long double x) { return std::tanh(x); },
     1.60, -22, 22},
    {"erf", [](double x) { return kernel::erf(x); }, [](long double x) { return std::erf(x); },
     1.30, -6.5, 6.5},
    {"sigmoid", [](double x) { return kernel::sigmoid(x); },
     [](long double x) { return sigmoid_reference(x); }, 2.60, -708, 50},
    {"silu", [](double x) { return kernel::silu(x); },
     [](long double x) { return x * sigmoid_reference(x); }, 3.40, -708, 50},
    {"gelu", [](double x) { return kernel::gelu(x); },
     [](long double x) { return gelu_reference(x); }, 12.0, -37, 10},
    {"rsqrt", [](double x) { return kernel::rsqrt(x); },
     [](long double x) { return 1 / std::sqrt(x); }, 1.50, 0, 1e3},
};

// Half of the samples are uniform, half have a uniform exponent.
TEST(MathDouble, StaysWithinItsBoundsOnSamples) {
  for (const DoubleFunction& f : kDoubleFunctions) {
    std::mt19937_64 random(20260101);
    std::uniform_real_distribution<double> uniform(f.low, f.high);
    std::uniform_real_distribution<double> power(-1070, std::log2(f.high));
    double worst = 0, at = 0;
    for (int i = 0; i < 200000; ++i) {
      double x = i % 2 == 0 ? uniform(random) : std::exp2(power(random));
      if (i % 4 == 1 && f.low < 0) x = -x;
      if (x < f.low) continue;
      const double error = ulp_error(f.function(x), f.reference(x));
      if (error > worst) worst = error, at = x;
    }
    RecordProperty(f.name, std::to_string(worst));
    EXPECT_LE(worst, f.bound) << f.name << " at " << at;
  }
}

TEST(MathDouble, SpecialValues) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(kernel::exp(-inf), 0.0);
  EXPECT_EQ(kernel::exp(inf), inf);
  EXPECT_EQ(kernel::exp(-745.0), 0x1p-1074);
  EXPECT_EQ(kernel::log(0.0), -inf);
  EXPECT_EQ(kernel::log(inf), inf);
  EXPECT_TRUE(std::isnan(kernel::log(-1.0)));
  EXPECT_EQ(kernel::tanh(-inf), -1.0);
  EXPECT_EQ(kernel::erf(inf), 1.0);
  EXPECT_EQ(kernel::sigmoid(-inf), 0.0);
  EXPECT_EQ(kernel::gelu(inf), inf);
  for (const DoubleFunction& f : kDoubleFunctions) {
    EXPECT_TRUE(std::isnan(f.function(std::nan("")))) << f.name;
  }
}

}  // namespace
}  // namespace coconet::kernel
