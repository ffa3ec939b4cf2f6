#include "coconet/program/report.h"

#include <gtest/gtest.h>

namespace coconet {
namespace {

UserError error_at(int line, int column, int length, const std::string& message = "wrong") {
  return UserError(ErrorKind::type, message, {"f.coco", line, column, length});
}

TEST(Render, UnderlinesThePlace) {
  EXPECT_EQ(render(error_at(2, 5, 3), "one\nab  cde f\n"),
            "f.coco:2:5: error: wrong\n    2 | ab  cde f\n      |     ^~~\n");
  EXPECT_EQ(render(error_at(1, 1, 1), "x"), "f.coco:1:1: error: wrong\n    1 | x\n      | ^\n");
}

TEST(Render, ThePlaceMayBeTheEnd) {
  EXPECT_EQ(render(error_at(1, 4, 1), "abc"),
            "f.coco:1:4: error: wrong\n    1 | abc\n      |    ^\n");
  EXPECT_EQ(render(error_at(2, 1, 1), "abc\n"), "f.coco:2:1: error: wrong\n    2 | \n      | ^\n");
}

TEST(Render, TabsAndWideCharactersKeepTheMarkInPlace) {
  EXPECT_EQ(render(error_at(1, 3, 1), "\tab"),
            "f.coco:1:3: error: wrong\n    1 | \tab\n      | \t ^\n");
  EXPECT_EQ(render(error_at(1, 4, 1), "\xC3\xA9xy"),
            "f.coco:1:4: error: wrong\n    1 | \xC3\xA9xy\n      |   ^\n");
}

TEST(Render, BytesThatAreNoCharacterAreNotPrinted) {
  EXPECT_EQ(render(error_at(1, 6, 1), "a\xFF\xC3\x1B\xA9y\xE2\x82\xAC\xE2\x82"),
            "f.coco:1:6: error: wrong\n    1 | a????y\xE2\x82\xAC??\n      |      ^\n");
}

TEST(Render, UnderliningEndsWithTheLine) {
  EXPECT_EQ(render(error_at(1, 2, 50), "abc"),
            "f.coco:1:2: error: wrong\n    1 | abc\n      |  ^~\n");
}

TEST(Render, LongLinesAreCut) {
  const std::string line = std::string(5000, 'a') + "!" + std::string(5000, 'b');
  const std::string text = render(error_at(1, 5001, 1), line);
  EXPECT_LT(text.size(), 400u);
  EXPECT_NE(text.find("a!b"), std::string::npos);
}

TEST(Render, WithoutAPlaceOrALine) {
  EXPECT_EQ(render(UserError(ErrorKind::data, "no file"), ""), "error: no file\n");
  EXPECT_EQ(render(error_at(9, 1, 1), "x"), "f.coco:9:1: error: wrong\n");
  EXPECT_EQ(render(UserError(ErrorKind::type, "m", {"a.cc", 3, 0, 1}), "x\ny\nz"),
            "a.cc:3: error: m\n");
}

TEST(ErrorList, SortsByPlace) {
  ErrorList list;
  list.add(error_at(3, 1, 1, "c"));
  list.add(error_at(1, 7, 1, "b"));
  list.add(error_at(1, 2, 1, "a"));
  try {
    list.throw_if_any();
    FAIL();
  } catch (const UserErrors& errors) {
    ASSERT_EQ(errors.errors().size(), 3u);
    EXPECT_EQ(errors.errors()[0].message(), "a");
    EXPECT_EQ(errors.errors()[1].message(), "b");
    EXPECT_EQ(errors.errors()[2].message(), "c");
    EXPECT_EQ(render(errors, "x\n"), render(errors.errors()[0], "x\n") +
                                         render(errors.errors()[1], "x\n") +
                                         render(errors.errors()[2], "x\n"));
  }
}

TEST(ErrorList, NothingToThrow) {
  ErrorList list;
  EXPECT_TRUE(list.empty());
  EXPECT_NO_THROW(list.throw_if_any());
}

TEST(ErrorList, OneSyntaxErrorALine) {
  ErrorList list;
  list.add(UserError(ErrorKind::syntax, "first", {"f", 2, 3, 1}));
  list.add(UserError(ErrorKind::syntax, "echo", {"f", 2, 5, 1}));
  list.add(UserError(ErrorKind::type, "another", {"f", 2, 9, 1}));
  EXPECT_EQ(list.size(), 2u);
}

}  // namespace
}  // namespace coconet
