#include "coconet/type/dim.h"

#include <gtest/gtest.h>

#include "coconet/base/error.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

TEST(Dim, EqualProductsCompareEqual) {
  const Dim h = Dim::named("H");
  const Dim b = Dim::named("B");
  EXPECT_EQ(Dim(4) * h, h * Dim(4));
  EXPECT_EQ(Dim(2) * b * Dim(2) * h, Dim(4) * h * b);
  EXPECT_NE(Dim(4) * h, h);
  EXPECT_EQ((Dim(4) * h).text(), "4*H");
  EXPECT_EQ((h * b).text(), "B*H");
  EXPECT_EQ(Dim(1).text(), "1");
}

TEST(Dim, OneIsTheLiteral) {
  EXPECT_TRUE(Dim(1).is_one());
  EXPECT_FALSE(Dim::named("H").is_one());
  EXPECT_FALSE(Dim::blocks(Dim(1)).is_one());
}

TEST(Dim, BindsToASize) {
  const Sizes sizes = {{"B", 3}, {"H", 0}};
  EXPECT_EQ((Dim(4) * Dim::named("B")).bind(sizes), 12);
  EXPECT_EQ((Dim::named("B") * Dim::named("H")).bind(sizes), 0);
  EXPECT_THROW(Dim::named("N").bind(sizes), UserError);
}

TEST(Dim, RefusesSizesBeyond63Bits) {
  const Sizes sizes = {{"N", std::int64_t{1} << 40}};
  EXPECT_THROW((Dim::named("N") * Dim::named("N")).bind(sizes), UserError);
}

TEST(Dim, HasAtMost64Names) {
  Dim dim(3);
  for (int i = 0; i < 64; ++i) dim = dim * Dim::named("N");
  EXPECT_EQ(dim.names().size(), 64u);
  fixture::expect_refused([&] { (void)(dim * Dim::named("N")); },
                          {"65 names; at most 64 are supported"});
}

TEST(Dim, CountsBlocks) {
  const Dim blocks = Dim::blocks(Dim::named("N"));
  EXPECT_EQ(blocks.text(), "blocks(N)");
  EXPECT_EQ(blocks.bind({{"N", 0}}), 0);
  EXPECT_EQ(blocks.bind({{"N", 1}}), 1);
  EXPECT_EQ(blocks.bind({{"N", 1024}}), 1);
  EXPECT_EQ(blocks.bind({{"N", 1025}}), 2);
}

TEST(Shape, PrintsAndMultiplies) {
  const Shape shape = {Dim::named("B"), Dim(4) * Dim::named("H")};
  EXPECT_EQ(text_of(shape), "[B,4*H]");
  EXPECT_EQ(product_of(shape).text(), "4*B*H");
  EXPECT_EQ(product_of({}), Dim(1));
}

}  // namespace
}  // namespace coconet
