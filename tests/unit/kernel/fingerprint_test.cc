// The bits of the scalar functions themselves: a change of compiler, flags, vector width or text
// that changes any result shows here. If a function is changed on purpose, its new value is
// printed.
#include <gtest/gtest.h>

#include "coconet/kernel/dropout.h"
#include "coconet/kernel/lanes.h"

namespace coconet::kernel {
namespace {

// Of f over 65,536 arguments: half of them of all exponents and NaNs, half spread over [-32, 32).
// Any NaN counts as one and the same.
template <class F, class Function>
std::uint64_t fingerprint(Function f) {
  static F arguments[4096];
  static F results[4096];
  std::uint64_t hash = 0;
  for (std::uint64_t block = 0; block < 16; ++block) {
    for (std::uint64_t i = 0; i < 4096; ++i) {
      const std::uint64_t bits = mix(block * 4096 + i);
      const F any = from_bits(static_cast<typename Format<F>::Bits>(bits >> (64 - 8 * sizeof(F))));
      const F near = static_cast<F>(static_cast<std::int64_t>(bits)) * F{0x1p-58};
      arguments[i] = i % 2 == 0 ? any : near;
    }
    for (int i = 0; i < 4096; ++i) results[i] = f(arguments[i]);
    for (const F result : results) hash = mix(hash ^ to_bits(or_nan(result, result)));
  }
  return hash;
}

#define COCONET_EXPECT_FINGERPRINT(type, expression, expected) \
  EXPECT_EQ(fingerprint<type>([](type x) { return expression; }), expected) << #expression

TEST(Fingerprint, OfFloatFunctions) {
  COCONET_EXPECT_FINGERPRINT(float, kernel::exp(x), 0xcb3e1d6073b9cf30u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::log(x), 0xf69000e77f6f73b5u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::tanh(x), 0x51bb4d5490c73b98u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::erf(x), 0x13add07b2ec954ffu);
  COCONET_EXPECT_FINGERPRINT(float, kernel::sigmoid(x), 0xaa5b9193b1d343d9u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::silu(x), 0xdb499b3d5b8428b4u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::gelu(x), 0x6d76779170f08c33u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::rsqrt(x), 0x216ea5169989fc18u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::pow(kernel::abs(x), -1.37f), 0x9ca2c007cb1b24a6u);
  COCONET_EXPECT_FINGERPRINT(float, kernel::pow(x, 3), 0x5dd50e4a7a3aeec5u);
}

TEST(Fingerprint, OfDoubleFunctions) {
  COCONET_EXPECT_FINGERPRINT(double, kernel::exp(x), 0xc3d25593c061e210u);
  COCONET_EXPECT_FINGERPRINT(double, kernel::log(x), 0x26e0fe37a59a9a69u);
  COCONET_EXPECT_FINGERPRINT(double, kernel::tanh(x), 0x1d3421a24fe6778cu);
  COCONET_EXPECT_FINGERPRINT(double, kernel::erf(x), 0x49b3fac0e29b04ecu);
  COCONET_EXPECT_FINGERPRINT(double, kernel::sigmoid(x), 0x05a9ec765455588eu);
  COCONET_EXPECT_FINGERPRINT(double, kernel::silu(x), 0x004bd0c8ab46ba00u);
  COCONET_EXPECT_FINGERPRINT(double, kernel::gelu(x), 0x513164820052dadfu);
  COCONET_EXPECT_FINGERPRINT(double, kernel::rsqrt(x), 0x73ff08055d536477u);
  COCONET_EXPECT_FINGERPRINT(double, kernel::pow(kernel::abs(x), 0.37), 0xff0153dba7f0b849u);
}

TEST(Fingerprint, OfDropout) {
  const Dropout dropout(1, 2, 3, 4, 0.25f);
  std::uint64_t hash = 0;
  for (std::uint64_t i = 0; i < 65536; ++i) hash = mix(hash ^ to_bits(dropout.apply(1.5f, i * i)));
  EXPECT_EQ(hash, 0x7ec3bdb7039ae5fbu);
}

}  // namespace
}  // namespace coconet::kernel
