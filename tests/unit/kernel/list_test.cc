// A list's blocks and the folds of its members.
#include "coconet/kernel/cpu/list.h"

#include <gtest/gtest.h>

namespace coconet::kernel {
namespace {

// Members of 5, 0 and 1027 elements.
const std::int64_t kElements[] = {5, 0, 1027};
const std::int64_t kFirst[] = {0, 1, 1, 3};
const std::int64_t kMemberOf[] = {0, 2, 2};
const ListTable kTable{3, 3, kElements, kFirst, kMemberOf};

TEST(ListTable, ABlockHasWhatItsMemberHas) {
  EXPECT_EQ(valid_in(kTable, 0), 5);
  EXPECT_EQ(valid_in(kTable, 1), 1024);
  EXPECT_EQ(valid_in(kTable, 2), 3);
}

TEST(ListTable, FoldsBlocksOfOneMember) {
  const float blocks[] = {1, 2, 4};
  EXPECT_EQ(fold_member<Sum>(kTable, 0, blocks), 1.0f);
  EXPECT_EQ(fold_member<Sum>(kTable, 1, blocks), 0.0f);
  EXPECT_EQ(fold_member<Sum>(kTable, 2, blocks), 6.0f);
  EXPECT_EQ(fold_member<Max>(kTable, 2, blocks), 4.0f);
}

TEST(ListTable, FoldsOf16BitsAccumulateInF32) {
  const f16 values[] = {round_to<f16>(2048.0f), round_to<f16>(1.0f), round_to<f16>(1.0f)};
  EXPECT_EQ(fold_blocks<Sum>(3, values), 2050.0f);
}

}  // namespace
}  // namespace coconet::kernel
