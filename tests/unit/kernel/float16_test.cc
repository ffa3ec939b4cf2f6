#include "coconet/kernel/float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "coconet/kernel/compute.h"

namespace coconet::kernel {
namespace {

// The value of a 16-bit pattern by the formats' definition.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  const int hidden = exponent == 0 ? 0 : 1 << mantissa_bits;
  return sign * std::ldexp(hidden + mantissa, std::max(exponent, 1) - bias - mantissa_bits);
}

template <class T>
constexpr int exponent_bits() {
  return std::is_same_v<T, f16> ? 5 : 8;
}

template <class T>
class Float16 : public testing::Test {};
using Types = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(Float16, Types);

TYPED_TEST(Float16, EveryPatternWidensToItsValueAndBack) {
  for (unsigned i = 0; i < 65536; ++i) {
    const TypeParam x{static_cast<std::uint16_t>(i)};
    const double value = value_of(x.bits, exponent_bits<TypeParam>());
    const float wide = widen(x);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(wide)) << i;
      ASSERT_TRUE(std::isnan(widen(round_to<TypeParam>(wide)))) << i;
      ASSERT_TRUE(std::isnan(widen(TypeParam::from_double(value)))) << i;
      continue;
    }
    ASSERT_EQ(wide, value) << i;
    ASSERT_EQ(std::signbit(wide), std::signbit(value)) << i;
    ASSERT_EQ(round_to<TypeParam>(wide).bits, i);
    ASSERT_EQ(TypeParam::from_double(value).bits, i);
    ASSERT_EQ(to_bits(rounded<TypeParam>(wide)), to_bits(wide)) << i;
  }
}

// Between each two neighbours: the half rounds to the even one, what is just beside it to the
// nearer.
TYPED_TEST(Float16, HalvesRoundToEven) {
  const int bits = exponent_bits<TypeParam>();
  const unsigned infinity = ((1u << bits) - 1u) << (15 - bits);
  for (unsigned i = 0; i < infinity; ++i) {
    const double low = value_of(static_cast<std::uint16_t>(i), bits);
    // The next value as if the exponent had no end, so that the last step leads to infinity.
    const double step = value_of(static_cast<std::uint16_t>(i), bits) -
                        (i == 0 ? 0.0 : value_of(static_cast<std::uint16_t>(i - 1), bits));
    const double high =
        i + 1 < infinity ? value_of(static_cast<std::uint16_t>(i + 1), bits) : low + step;
    const double half = low + (high - low) / 2;
    const unsigned even = i % 2 == 0 ? i : i + 1;
    const double below = std::nextafter(half, 0.0);
    const double above = std::nextafter(half, std::numeric_limits<double>::infinity());
    for (const unsigned sign : {0u, 0x8000u}) {
      const double s = sign != 0 ? -1.0 : 1.0;
      ASSERT_EQ(TypeParam::from_double(s * half).bits, even | sign) << i;
      ASSERT_EQ(TypeParam::from_double(s * below).bits, i | sign) << i;
      ASSERT_EQ(TypeParam::from_double(s * above).bits, (i + 1) | sign) << i;
      const float half32 = static_cast<float>(s * half);
      if (static_cast<double>(half32) != s * half) continue;  // below f32's last place
      ASSERT_EQ(TypeParam::from_float(half32).bits, even | sign) << i;
      ASSERT_EQ(TypeParam::from_float(std::nextafter(half32, 0.0f)).bits, i | sign) << i;
      ASSERT_EQ(TypeParam::from_float(std::nextafter(half32, half32 * 2)).bits, (i + 1) | sign);
    }
  }
}

TYPED_TEST(Float16, EdgesOfTheRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(widen(round_to<TypeParam>(infinity)), infinity);
  EXPECT_EQ(widen(round_to<TypeParam>(-infinity)), -infinity);
  EXPECT_EQ(widen(TypeParam::from_double(1e300)), infinity);
  EXPECT_EQ(widen(TypeParam::from_double(-1e300)), -infinity);
  EXPECT_EQ(round_to<TypeParam>(-0.0f).bits, 0x8000);
  EXPECT_EQ(TypeParam::from_double(-1e-300).bits, 0x8000);
  EXPECT_EQ(TypeParam::from_double(std::numeric_limits<double>::denorm_min()).bits, 0);
  // A NaN whose payload stands in the dropped bits only must not become infinity.
  EXPECT_TRUE(std::isnan(widen(round_to<TypeParam>(from_bits(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(widen(round_to<TypeParam>(from_bits(0xffffffffu)))));
  EXPECT_TRUE(
      std::isnan(widen(TypeParam::from_double(from_bits(std::uint64_t{0x7ff0000000000001})))));
}

TEST(Float16FromDouble, RoundsOnce) {
  // 1 + half an ulp of f16 + a little that f32 cannot hold: over f32 it would round to the even 1.
  EXPECT_EQ(f16::from_double(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(f16::from_float(static_cast<float>(1.0 + 0x1p-11 + 0x1p-40)).bits, 0x3c00);
  EXPECT_EQ(bf16::from_double(1.0 + 0x1p-8 + 0x1p-40).bits, 0x3f81);
  EXPECT_EQ(bf16::from_float(static_cast<float>(1.0 + 0x1p-8 + 0x1p-40)).bits, 0x3f80);
}

TEST(Float16FromDouble, AgreesWithFloatWhereTheDoubleIsAFloat) {
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 1009) {
    const float x = from_bits(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) continue;
    ASSERT_EQ(f16::from_double(x).bits, f16::from_float(x).bits) << x;
    ASSERT_EQ(bf16::from_double(x).bits, bf16::from_float(x).bits) << x;
  }
}

}  // namespace
}  // namespace coconet::kernel
