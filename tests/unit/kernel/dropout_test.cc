#include "coconet/kernel/dropout.h"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace coconet::kernel {
namespace {

// Known answers of Random123's kat_vectors for philox4x32 with 10 rounds.
TEST(Philox, GivesRandom123sKnownAnswers) {
  const auto expect = [](FourWords counter, std::uint64_t key, FourWords want) {
    const FourWords got = philox_words(counter, key);
    for (int w = 0; w < 4; ++w) EXPECT_EQ(got.word[w], want.word[w]) << w;
  };
  expect({{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  const std::uint32_t f = 0xffffffff;
  expect({{f, f, f, f}}, ~std::uint64_t{0}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822u,
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Philox, GivesTheWordsOfRandom123) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const std::uint64_t a = mix(3 * i), b = mix(3 * i + 1), key = mix(3 * i + 2);
    const FourWords got = philox_words({{low(a), low(a >> 32), low(b), low(b >> 32)}}, key);
    const auto want = r123::Philox4x32()({{low(a), low(a >> 32), low(b), low(b >> 32)}},
                                         {{low(key), low(key >> 32)}});
    for (unsigned w = 0; w < 4; ++w) ASSERT_EQ(got.word[w], want[w]) << i;
  }
}

// The header's definition of key and counter.
TEST(Dropout, WordsFollowTheDocumentedKeyAndCounter) {
  const std::uint64_t seed = 11, call = 0x500000007, site = 3;
  const std::int64_t coordinates[] = {1, 2};
  const std::uint64_t local = coordinate_hash(coordinates, 2);
  EXPECT_EQ(local, mix(mix(0 ^ mix(1)) ^ mix(2)));
  const Dropout dropout(seed, call, site, local, 0.5f);
  const std::uint64_t key = mix(mix(seed) ^ mix(site + 1) ^ local);
  const std::uint64_t index = 4 * 0x300000009u + 2;
  const auto words = r123::Philox4x32()(
      {{9, 3, 7, 5}}, {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}});
  EXPECT_EQ(dropout.word(index), words[2]);
  EXPECT_EQ(dropout.kept(index), words[2] >= 0x80000000u);
}

TEST(Dropout, MixIsSplitmix64) {
  // First outputs of splitmix64 seeded with 0 and with 1234567.
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(mix(1234567), 6457827717110365317u);
}

TEST(Dropout, RunsGiveTheWordsOfSingleElements) {
  const Dropout dropout(1, 2, 3, 4, 0.3f);
  for (std::uint64_t first : {0u, 1u, 2u, 3u, 4u, 1023u, 4294967295u}) {
    for (std::int64_t count : {0, 1, 2, 3, 4, 5, 11, 64}) {
      std::vector<std::uint32_t> words(count);
      dropout.words(first, count, words.data());
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(words[i], dropout.word(first + i)) << first << " " << i;
        ASSERT_EQ(to_bits(dropout.apply_word(2.5f, words[i])),
                  to_bits(dropout.apply(2.5f, first + i)));
      }
    }
  }
}

TEST(Dropout, KeptElementsAreScaledOthersAreZero) {
  const float p = 0.1f;
  const Dropout dropout(5, 0, 0, 0, p);
  const float scale = static_cast<float>(1.0 / (1.0 - static_cast<double>(p)));
  EXPECT_EQ(dropout.scale(), scale);
  EXPECT_EQ(dropout.threshold(), static_cast<std::uint64_t>(std::floor(double{p} * 4294967296.0)));
  bool both[2] = {false, false};
  for (std::uint64_t i = 0; i < 100; ++i) {
    both[dropout.kept(i)] = true;
    EXPECT_EQ(to_bits(dropout.apply(-3.7f, i)), to_bits(dropout.kept(i) ? -3.7f * scale : 0.0f));
    EXPECT_EQ(dropout.apply(-3.7, i), dropout.kept(i) ? -3.7 * double{scale} : 0.0);
  }
  EXPECT_TRUE(both[0] && both[1]);
}

TEST(Dropout, RateOneGivesZerosRateZeroChangesNothing) {
  const float values[] = {1.5f, -0.0f, 0x1p-149f, std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::infinity()};
  const Dropout none(1, 1, 1, 1, 0.0f), all(1, 1, 1, 1, 1.0f);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (const float x : values) {
      ASSERT_EQ(to_bits(none.apply(x, i)), to_bits(x));
      ASSERT_EQ(to_bits(all.apply(x, i)), 0u);
    }
  }
  EXPECT_EQ(to_bits(all.apply_word(std::nanf(""), 0xffffffffu)), 0u);
  EXPECT_TRUE(none.kept_word(0));
  EXPECT_FALSE(all.kept_word(0xffffffffu));
}

TEST(Dropout, RatesOutsideZeroToOneAreNotValid) {
  EXPECT_TRUE(valid_rate(0.0f) && valid_rate(-0.0f) && valid_rate(0.5f) && valid_rate(1.0f));
  EXPECT_FALSE(valid_rate(-0x1p-149f) || valid_rate(std::nextafter(1.0f, 2.0f)) ||
               valid_rate(std::nanf("")) || valid_rate(std::numeric_limits<float>::infinity()));
}

// The share of kept elements, and of pairs kept together, lies within five standard deviations.
TEST(Dropout, KeepsTheRightShareIndependently) {
  const std::int64_t count = 1 << 18;
  for (const float p : {0.1f, 0.5f, 0.9f}) {
    const Dropout dropout(42, 7, 1, 0, p);
    std::int64_t kept = 0, pairs = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      kept += dropout.kept(i);
      pairs += dropout.kept(i) && dropout.kept(i + 1);
    }
    const double q = 1 - double{p};
    EXPECT_NEAR(double(kept), count * q, 5 * std::sqrt(count * q * (1 - q))) << p;
    // Neighbouring pairs overlap, which at most triples the variance.
    EXPECT_NEAR(double(pairs), count * q * q, 5 * std::sqrt(3 * count * q * q * (1 - q * q))) << p;
  }
}

// Masks that differ in one part of the key agree only as often as independent ones do.
TEST(Dropout, EveryPartOfTheKeyGivesAnotherMask) {
  const std::int64_t count = 1 << 14, here[] = {0}, there[] = {1};
  const Dropout base(1, 1, 1, coordinate_hash(here, 1), 0.5f);
  const Dropout others[] = {{2, 1, 1, coordinate_hash(here, 1), 0.5f},
                            {1, 2, 1, coordinate_hash(here, 1), 0.5f},
                            {1, 1, 2, coordinate_hash(here, 1), 0.5f},
                            {1, 1, 1, coordinate_hash(there, 1), 0.5f},
                            {1, 1, 1, coordinate_hash(here, 0), 0.5f}};
  for (const Dropout& other : others) {
    std::int64_t equal = 0;
    for (std::int64_t i = 0; i < count; ++i) equal += base.kept(i) == other.kept(i);
    EXPECT_NEAR(double(equal), count * 0.5, 5 * std::sqrt(count * 0.25));
  }
}

}  // namespace
}  // namespace coconet::kernel
