#include "coconet/runtime/content_hash.h"

#include <gmock/gmock.h>

namespace coconet::runtime {
namespace {

TEST(ContentHash, TellsContentsApart) {
  EXPECT_EQ(ContentHash().add("ab").hex(), ContentHash().add("ab").hex());
  EXPECT_EQ(ContentHash().add("ab").hex().size(), 32u);
  EXPECT_NE(ContentHash().add("ab").hex(), ContentHash().add("ac").hex());
  EXPECT_NE(ContentHash().add("ab").hex(), ContentHash().add("a").add("b").hex());
  EXPECT_NE(ContentHash().hex(), ContentHash().add("").hex());
}

}  // namespace
}  // namespace coconet::runtime
