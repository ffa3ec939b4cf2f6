#include <gtest/gtest.h>

#include "coconet/base/error.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

constexpr std::int64_t kRows = 50, kColumns = 41;

struct Draw {
  int ranks = 1;
  double rate = 0.25;
  std::uint64_t seed = 3, call_number = 0;
  int site = 0;
};

std::vector<double> dropped(const Layout& layout, const Draw& draw) {
  Sample s({draw.ranks}, {{"R", kRows}, {"C", kColumns}});
  s.setting.seed = draw.seed;
  s.setting.call_number = draw.call_number;
  const TensorType type{f32, {Dim::named("R"), Dim::named("C")}, layout};
  const std::int64_t copies = layout.is<Local>(0) ? draw.ranks : 1;
  const NodeId x = s.input("x", type, std::vector<double>(kRows * kColumns * copies, 1));
  s.output("out", s.add(Dropout{draw.site}, {x, s.literal(draw.rate)}, "out"));
  return s.value_of("out");
}

TEST(DropoutMask, IsTheSameForAnyRankCountAndSlice) {
  const std::vector<double> want = dropped(Layout(1), {});
  for (int ranks : {1, 2, 3, 4, 8}) {
    for (const Layout& layout :
         {Layout(1), sliced(0), sliced(1), Layout(1).with(0, Sliced{Slice::range(0, 1)}), flat(),
          Layout(1).with(0, Rooted{0})}) {
      EXPECT_EQ(dropped(layout, {.ranks = ranks}), want) << ranks;
    }
  }
}

TEST(DropoutMask, KeepsAboutTheRightShareAndScalesIt) {
  const std::vector<double> out = dropped(Layout(1), {});
  std::int64_t kept = 0;
  for (double value : out) {
    ASSERT_TRUE(value == 0 || value == static_cast<double>(static_cast<float>(1 / 0.75)));
    kept += value != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept) / (kRows * kColumns), 0.75, 0.04);
}

TEST(DropoutMask, ChangesWithCallSeedAndSite) {
  const std::vector<double> first = dropped(Layout(1), {});
  EXPECT_NE(dropped(Layout(1), {.seed = 4}), first);
  EXPECT_NE(dropped(Layout(1), {.call_number = 1}), first);
  EXPECT_NE(dropped(Layout(1), {.site = 1}), first);
}

TEST(DropoutMask, DiffersAmongLocalReplicas) {
  const std::vector<double> out = dropped(local(), {.ranks = 2});
  const std::vector<double> first(out.begin(), out.begin() + kRows * kColumns);
  const std::vector<double> second(out.begin() + kRows * kColumns, out.end());
  EXPECT_NE(first, second);
}

TEST(DropoutMask, ExtremesAreIdentityAndZeros) {
  const std::vector<double> ones(kRows * kColumns, 1), zeros(kRows * kColumns, 0);
  EXPECT_EQ(dropped(Layout(1), {.rate = 0}), ones);
  EXPECT_EQ(dropped(Layout(1), {.rate = 1}), zeros);
}

TEST(DropoutMask, AProbabilityOutsideItsRangeIsAnErrorOfTheData) {
  for (double rate : {-0.1, 1.5}) {
    try {
      dropped(Layout(1), {.rate = rate});
      ADD_FAILURE() << rate;
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_NE(error.message().find("from 0 to 1"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace coconet::interp
