#include "coconet/kernel/float16_block.h"

#include <gtest/gtest.h>

#include <vector>

// Also where the rest of the tests is compiled for a processor without them.
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace coconet::kernel {
namespace {

#if defined(__x86_64__)
bool has_f16c() {
  unsigned a, b, c, d;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

__attribute__((target("f16c,avx"))) void widen_by_instruction(const f16* in, float* out) {
  _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
}
__attribute__((target("f16c,avx"))) void round_by_instruction(const float* in, f16* out) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                   _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT));
}

TEST(Float16Instructions, WidenAsThePortableForm) {
  if (!has_f16c()) GTEST_SKIP() << "this processor has no F16C";
  for (unsigned i = 0; i < 65536; i += 8) {
    f16 in[8];
    float out[8];
    for (unsigned j = 0; j < 8; ++j) in[j].bits = static_cast<std::uint16_t>(i + j);
    widen_by_instruction(in, out);
    for (unsigned j = 0; j < 8; ++j) ASSERT_EQ(to_bits(out[j]), to_bits(widen(in[j]))) << i + j;
  }
}

// Around every bound between two results (the halves of f16's last place), and a stride over all.
TEST(Float16Instructions, RoundAsThePortableForm) {
  if (!has_f16c()) GTEST_SKIP() << "this processor has no F16C";
  const auto compare = [](const std::uint32_t(&bits)[8]) {
    float in[8];
    f16 out[8];
    for (int j = 0; j < 8; ++j) in[j] = from_bits(bits[j]);
    round_by_instruction(in, out);
    for (int j = 0; j < 8; ++j) ASSERT_EQ(out[j].bits, round_to<f16>(in[j]).bits) << bits[j];
  };
  for (std::uint64_t high = 0; high < 0x100000000u; high += 0x1000) {
    const std::uint32_t b = static_cast<std::uint32_t>(high);
    const std::uint32_t bits[8] = {b - 2, b - 1, b, b + 1, b + 2, b ^ 0x7ff, b ^ 0x801, b ^ 0x555};
    ASSERT_NO_FATAL_FAILURE(compare(bits));
  }
  for (std::uint64_t first = 0; first < 0x100000000u; first += 8 * 1021) {
    std::uint32_t bits[8];
    for (std::uint32_t j = 0; j < 8; ++j) bits[j] = static_cast<std::uint32_t>(first + j * 1021);
    ASSERT_NO_FATAL_FAILURE(compare(bits));
  }
}
#endif

template <class T>
class Float16Block : public testing::Test {};
using Types = testing::Types<f16, bf16, float>;
TYPED_TEST_SUITE(Float16Block, Types);

TYPED_TEST(Float16Block, EachIsTheConversionOfOneWhateverTheLength) {
  for (std::int64_t count : {0, 1, 7, 8, 9, 31, 64, 67}) {
    std::vector<float> in, back(count);
    for (std::int64_t i = 0; i < count; ++i) in.push_back(0.1f * static_cast<float>(i - 20));
    std::vector<TypeParam> out(count);
    round_each<TypeParam>(in.data(), out.data(), count);
    widen_each<TypeParam>(out.data(), back.data(), count);
    for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(back[i], rounded<TypeParam>(in[i]));
  }
}

}  // namespace
}  // namespace coconet::kernel
