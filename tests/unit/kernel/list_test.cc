// A list's blocks and the folds of its members.
#include "coconet/kernel/cpu/list.h"

#include <gtest/gtest.h>

#include <vector>

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

TEST(ListTable, FoldsElementsAcrossMembers) {
  const std::int64_t elements[] = {3, 3, 3}, first[] = {0, 1, 2, 3}, member_of[] = {0, 1, 2};
  const ListTable table{3, 3, elements, first, member_of};
  std::vector<f16> values(3 * kBlockElements, round_to<f16>(1.0f));
  values[1] = values[2] = round_to<f16>(2048.0f);
  values[2 * kBlockElements + 2] = round_to<f16>(-5.0f);
  float out[2] = {};
  fold_across<Sum>(table, values.data(), 1, 2, out);
  EXPECT_EQ(out[0], 2050.0f);
  EXPECT_EQ(out[1], 2044.0f);
  EXPECT_EQ((fold_across<Min>(table, values.data(), 2)), -5.0f);
  const std::int64_t none[] = {0};
  EXPECT_EQ((fold_across<Prod, f16>({0, 0, nullptr, none, nullptr}, nullptr, 2)), 1.0f);
}

}  // namespace
}  // namespace coconet::kernel
