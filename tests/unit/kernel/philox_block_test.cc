// Compiled for the processor at hand, as modules are.
#include "coconet/kernel/philox_block.h"

#include <gtest/gtest.h>

#include <vector>

#include "coconet/kernel/dropout.h"

namespace coconet::kernel {
namespace {

// Counters that carry into their second word among them; keys whose steps do.
TEST(Philox, BlocksGiveTheWordsOfSingleCounters) {
  for (const std::uint64_t key :
       {std::uint64_t{0}, std::uint64_t{0x12345678ffffffff}, ~std::uint64_t{0}}) {
    for (const std::uint64_t call : {std::uint64_t{0}, std::uint64_t{0x500000007}}) {
      const Dropout dropout(key, call, 1, 2, 0.5f);
      for (const std::uint64_t first :
           {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 34) - 50}) {
        for (const std::int64_t count : {0, 15, 16, 31, 33, 64, 131, 1024}) {
          std::vector<std::uint32_t> words(static_cast<std::size_t>(count) + 1, 77);
          dropout.words(first, count, words.data());
          for (std::int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(words[i], dropout.word(first + static_cast<std::uint64_t>(i)))
                << first << " " << i;
          }
          EXPECT_EQ(words[count], 77u);
        }
      }
    }
  }
}

#if defined(COCONET_PHILOX_BLOCKS)
TEST(Philox, BlocksAreWhole) {
  std::vector<std::uint32_t> words(4 * 4 * kPhiloxLanes);
  EXPECT_EQ(philox_blocks(5, 6, 7, kPhiloxLanes - 1, words.data()), 0);
  EXPECT_EQ(philox_blocks(5, 6, 7, 2 * kPhiloxLanes + 1, words.data()), 2 * kPhiloxLanes);
}
#endif

}  // namespace
}  // namespace coconet::kernel
