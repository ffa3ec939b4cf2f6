#include "coconet/kernel/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace coconet::kernel {
namespace {

// The contract in plain words: element i to lane i mod 16, lanes from the identity, then 0..15.
template <class F, class T>
T plain_row(const T* x, std::int64_t count) {
  std::vector<T> lane(16, F::template identity<T>());
  for (std::int64_t i = 0; i < count; ++i) lane[i % 16] = F{}(lane[i % 16], x[i]);
  T result = lane[0];
  for (int l = 1; l < 16; ++l) result = F{}(result, lane[l]);
  return result;
}

template <class F, class T>
T plain_tensor(const T* x, std::int64_t count) {
  if (count == 0) return F::template identity<T>();
  T result{};
  for (std::int64_t begin = 0; begin < count; begin += 1024) {
    const T block = plain_row<F>(x + begin, std::min<std::int64_t>(1024, count - begin));
    result = begin == 0 ? block : F{}(result, block);
  }
  return result;
}

template <class T>
std::vector<T> random_values(std::int64_t count) {
  std::mt19937_64 random(count + 1);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      values.push_back(std::uniform_real_distribution<T>(-2, 2)(random));
    } else {
      values.push_back(static_cast<T>(random()));
    }
  }
  return values;
}

bool same_bits(float a, float b) { return to_bits(a) == to_bits(b); }
bool same_bits(double a, double b) { return to_bits(a) == to_bits(b); }
template <class T>
bool same_bits(T a, T b) {
  return a == b;
}

template <class F, class T>
void compare_with_plain() {
  for (std::int64_t count : {0, 1, 2, 15, 16, 17, 31, 33, 100, 1023, 1024, 1025, 3000, 5000}) {
    const std::vector<T> x = random_values<T>(count);
    const auto element = [&](std::int64_t i) { return x[i]; };
    EXPECT_TRUE(same_bits(reduce_row<F>(count, element), plain_row<F>(x.data(), count))) << count;
    EXPECT_TRUE(same_bits(reduce_tensor<F>(count, element), plain_tensor<F>(x.data(), count)));
    if (count > kBlockElements) continue;
    EXPECT_TRUE(same_bits(reduce_block<F>(count, element), plain_row<F>(x.data(), count)));
  }
}

template <class T>
class Lanes : public testing::Test {};
using Types = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Lanes, Types);

TYPED_TEST(Lanes, FoldInTheContractsOrder) {
  compare_with_plain<Sum, TypeParam>();
  compare_with_plain<Prod, TypeParam>();
  compare_with_plain<Max, TypeParam>();
  compare_with_plain<Min, TypeParam>();
}

// Other orders give other bits on these values, so the comparison above can fail.
TEST(LanesOrder, MattersForFloats) {
  const std::vector<float> x = random_values<float>(5000);
  float left = 0;
  for (const float v : x) left += v;
  EXPECT_NE(left, reduce_row<Sum>(5000, [&](std::int64_t i) { return x[i]; }));
  EXPECT_NE(reduce_tensor<Sum>(5000, [&](std::int64_t i) { return x[i]; }),
            reduce_row<Sum>(5000, [&](std::int64_t i) { return x[i]; }));
}

TEST(LanesOrder, BlocksCanBeReducedApart) {
  const std::vector<float> x = random_values<float>(5000);
  std::vector<float> blocks;
  for (std::int64_t begin = 0; begin < 5000; begin += kBlockElements) {
    const std::int64_t size = std::min<std::int64_t>(kBlockElements, 5000 - begin);
    blocks.push_back(reduce_block<Sum>(size, [&](std::int64_t i) { return x[begin + i]; }));
  }
  EXPECT_EQ(to_bits(fold_blocks<Sum>(5, blocks.data())),
            to_bits(reduce_tensor<Sum>(5000, [&](std::int64_t i) { return x[i]; })));
}

TEST(Folds, OverRanksStartAtRankZero) {
  const float x[] = {1e8f, 1.0f, -1e8f, 1.0f};
  const auto value = [&](std::int64_t rank) { return x[rank]; };
  EXPECT_EQ(fold_ranks<Sum>(4, value), ((1e8f + 1.0f) + -1e8f) + 1.0f);
  EXPECT_EQ(fold_ranks<Max>(4, value), 1e8f);
  EXPECT_EQ(fold_ranks<Sum>(0, value), 0.0f);
  // Not from the identity: -0 stays -0 over ranks, and becomes +0 in lanes.
  const auto zero = [](std::int64_t) { return -0.0f; };
  EXPECT_TRUE(std::signbit(fold_ranks<Sum>(3, zero)));
  EXPECT_FALSE(std::signbit(reduce_row<Sum>(3, zero)));
}

TEST(Folds, IdentitiesHaveNoEffect) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Max::identity<float>(), -inf);
  EXPECT_EQ(Min::identity<float>(), inf);
  EXPECT_EQ(Prod::identity<float>(), 1.0f);
  EXPECT_EQ(to_bits(Sum::identity<float>()), 0u);
  EXPECT_EQ(Max::identity<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(Min::identity<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((stored_identity<Max, f16>().bits), 0xfc00);
  EXPECT_EQ((stored_identity<Min, bf16>().bits), 0x7f80);
  EXPECT_EQ((stored_identity<Prod, f16>().bits), 0x3c00);
  EXPECT_EQ((stored_identity<Sum, std::int32_t>()), 0);
}

TEST(Folds, MaxAndMinOfARowWithANanAreNan) {
  for (std::int64_t at : {0, 5, 16, 99}) {
    const auto element = [&](std::int64_t i) { return i == at ? std::nanf("") : -1.0f; };
    EXPECT_TRUE(std::isnan(reduce_row<Max>(100, element))) << at;
    EXPECT_TRUE(std::isnan(reduce_row<Min>(100, element))) << at;
  }
}

TEST(Folds, IntegerSumsWrap) {
  const auto element = [](std::int64_t) { return std::numeric_limits<std::int32_t>::max(); };
  EXPECT_EQ(reduce_row<Sum>(2, element), -2);
  EXPECT_EQ(fold_ranks<Sum>(2, element), -2);
}

TEST(Folds, SixteenBitValuesAccumulateInFloat) {
  // 2048 + 1 is not an f16; a sum rounded at each step would stay at 2048.
  const auto element = [](std::int64_t i) { return widen(f16::from_float(i == 0 ? 2048 : 1)); };
  EXPECT_EQ(reduce_row<Sum>(101, element), 2148.0f);
}

}  // namespace
}  // namespace coconet::kernel
