// Dropout: which elements are kept depends only on the run seed, the call, the place in the
// program, the coordinates on `local` mesh axes and the element's global index, so the mask is the
// same for any rank count, slice, fusion or backend.
//
// Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3"), tested equal to
// Random123's, whose header alone takes longer to compile than a whole generated kernel, with
//   key      the 64 bits of mix(mix(seed) ^ mix(site + 1) ^ local), low word first, where mix is
//            splitmix64's step and local is coordinate_hash of the coordinates
//   counter  words 0, 1: global element index / 4, low word first; words 2, 3: the call's number
// An element takes word index mod 4. It is kept if word >= floor(p * 2^32), as a 64-bit comparison.
// Kept elements are multiplied by f32(1 / (1 - p)). p = 1 gives zeros, p = 0 changes nothing.
#pragma once

#include <cstdint>

#include "coconet/kernel/bits.h"
#include "coconet/kernel/philox_block.h"

namespace coconet::kernel {

// A rate is a number from 0 to 1.
COCONET_HD constexpr bool valid_rate(float p) { return p >= 0.0f && p <= 1.0f; }

// One step of splitmix64: a bijection that spreads every bit.
COCONET_HD constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Of the rank's coordinates on the axes on which the tensor is local, in mesh order; 0 for none.
COCONET_HD constexpr std::uint64_t coordinate_hash(const std::int64_t* coordinates, int count) {
  std::uint64_t hash = 0;
  for (int i = 0; i < count; ++i) {
    hash = mix(hash ^ mix(static_cast<std::uint64_t>(coordinates[i])));
  }
  return hash;
}

// Four words of a generator, or its counter.
struct FourWords {
  std::uint32_t word[4];
};

// Ten rounds; each multiplies two words of the counter to 64 bits and mixes the halves with the
// others and with a key that moves on by a constant.
COCONET_HD COCONET_INLINE FourWords philox_words(FourWords counter, std::uint64_t key) {
  std::uint32_t c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2],
                c3 = counter.word[3];
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xd2511f53u} * c0;
    const std::uint64_t p1 = std::uint64_t{0xcd9e8d57u} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}

// Immutable; any number of threads may use one.
class Dropout {
 public:
  // Requires: valid_rate(p).
  COCONET_HD Dropout(std::uint64_t seed, std::uint64_t call, std::uint64_t site,
                     std::uint64_t local_coordinate_hash, float p)
      : key_(mix(mix(seed) ^ mix(site + 1) ^ local_coordinate_hash)),
        call_(call),
        threshold_(static_cast<std::uint64_t>(static_cast<double>(p) * 0x1p32)),
        below_(static_cast<std::uint32_t>(threshold_ - 1)),
        all_(threshold_ == 0),
        scale_(p < 1.0f ? static_cast<float>(1.0 / (1.0 - static_cast<double>(p))) : 0.0f) {}

  // The four words of elements 4 * group .. 4 * group + 3.
  COCONET_HD COCONET_INLINE FourWords words_of(std::uint64_t group) const {
    return philox_words(
        {{static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32),
          static_cast<std::uint32_t>(call_), static_cast<std::uint32_t>(call_ >> 32)}},
        key_);
  }

  COCONET_HD COCONET_INLINE std::uint32_t word(std::uint64_t index) const {
    return words_of(index / 4).word[index % 4];
  }

  // words[i] = word(first + i): four elements for each Philox call.
  COCONET_HD void words(std::uint64_t first, std::int64_t count, std::uint32_t* words) const {
    std::int64_t i = 0;
    for (; i < count && (first + static_cast<std::uint64_t>(i)) % 4 != 0; ++i) {
      words[i] = word(first + static_cast<std::uint64_t>(i));
    }
    const std::uint64_t group = (first + static_cast<std::uint64_t>(i)) / 4;
    const std::int64_t groups = (count - i) / 4;
    std::int64_t g = 0;
#if defined(COCONET_PHILOX_BLOCKS)
    g = philox_blocks(group, call_, key_, groups, words + i);
#endif
    for (; g < groups; ++g) {
      const FourWords four = words_of(group + static_cast<std::uint64_t>(g));
      for (unsigned w = 0; w < 4; ++w) words[i + 4 * g + w] = four.word[w];
    }
    for (i += 4 * groups; i < count; ++i) words[i] = word(first + static_cast<std::uint64_t>(i));
  }

  COCONET_HD COCONET_INLINE bool kept_word(std::uint32_t word) const {
    return (word > below_) | all_;
  }
  COCONET_HD COCONET_INLINE bool kept(std::uint64_t index) const { return kept_word(word(index)); }

  // What dropout makes of x, whose word is given: x * scale, or +0. F is float or double.
  template <class F>
  COCONET_HD COCONET_INLINE F apply_word(F x, std::uint32_t word) const {
    return select(mask_of<F>(kept_word(word)), x * static_cast<F>(scale_), F{0});
  }
  template <class F>
  COCONET_HD COCONET_INLINE F apply(F x, std::uint64_t index) const {
    return apply_word(x, word(index));
  }

  COCONET_HD float scale() const { return scale_; }
  COCONET_HD std::uint64_t threshold() const { return threshold_; }

 private:
  std::uint64_t key_;
  std::uint64_t call_;
  std::uint64_t threshold_;
  std::uint32_t
      below_;  // threshold - 1, if that is not below 0: comparisons in 32 bits are quicker
  bool all_;   // threshold is 0
  float scale_;
};

}  // namespace coconet::kernel
