#include "coconet/base/error.h"

#include <gmock/gmock.h>

namespace coconet {
namespace {

using testing::HasSubstr;

TEST(Where, PrintsWhatIsKnown) {
  EXPECT_EQ((Where{"a.coco", 3, 7}.text()), "a.coco:3:7");
  EXPECT_EQ((Where{"a.cc", 3}.text()), "a.cc:3");
  EXPECT_EQ((Where{"", 3, 7}.text()), "3:7");
  EXPECT_EQ((Where{"a.coco"}.text()), "a.coco");
  EXPECT_EQ(Where{}.text(), "");
}

TEST(UserError, PutsThePlaceBeforeTheMessage) {
  const UserError error(ErrorKind::type, "sqrt of partial(+)", {"a.coco", 3, 7});
  EXPECT_STREQ(error.what(), "a.coco:3:7: sqrt of partial(+)");
  EXPECT_EQ(error.message(), "sqrt of partial(+)");
}

TEST(UserError, KeepsThePlaceItHas) {
  const UserError placed(ErrorKind::type, "m", {"a.coco", 3, 7});
  EXPECT_EQ(placed.at({"b.coco", 1, 1}).where().text(), "a.coco:3:7");
  const UserError unplaced(ErrorKind::type, "m");
  EXPECT_EQ(unplaced.at({"b.coco", 1, 1}).where().text(), "b.coco:1:1");
}

TEST(UserErrors, JoinsMessagesByLines) {
  const UserErrors errors({UserError(ErrorKind::syntax, "one"), UserError(ErrorKind::type, "two")});
  EXPECT_STREQ(errors.what(), "one\ntwo");
}

TEST(UserErrors, IsNeverEmpty) { EXPECT_THROW(UserErrors({}), InternalError); }

TEST(Check, NamesTheBrokenInvariantAndItsPlaceInTheRepository) {
  try {
    check(false, "ids are dense");
    FAIL() << "check(false) must throw";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ids are dense"));
    EXPECT_THAT(error.what(), testing::StartsWith("tests/unit/base/error_test.cc:"));
  }
}

TEST(ErrorKind, HasTheExitCodesOfTheTool) {
  EXPECT_EQ(exit_code_of(ErrorKind::type), 1);
  EXPECT_EQ(exit_code_of(ErrorKind::usage), 2);
  EXPECT_EQ(exit_code_of(ErrorKind::runtime), 3);
}

}  // namespace
}  // namespace coconet
