#include "coconet/base/nearest.h"

#include <gtest/gtest.h>

namespace coconet {
namespace {

TEST(Nearest, OneEditOfAnyKind) {
  const std::vector<std::string> names = {"layer", "total", "drop"};
  EXPECT_EQ(nearest("totl", names), "total");
  EXPECT_EQ(nearest("totaal", names), "total");
  EXPECT_EQ(nearest("tatal", names), "total");
  EXPECT_EQ(nearest("ottal", names), "total");
}

TEST(Nearest, FarNamesAreNoGuess) {
  EXPECT_EQ(nearest("gather", {"layer", "total"}), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
  EXPECT_EQ(nearest("abc", {"xyz"}), "");
  EXPECT_EQ(nearest("total", {}), "");
}

TEST(Nearest, TheNearestThenTheFirst) {
  EXPECT_EQ(nearest("reduce_scater", {"reduce", "reduce_scatter"}), "reduce_scatter");
  EXPECT_EQ(nearest("tot", {"tut", "tat"}), "tut");
}

TEST(Nearest, LongNamesAreNotCompared) {
  EXPECT_EQ(nearest(std::string(100000, 'a'), {std::string(100000, 'b')}), "");
}

TEST(Nearest, Suggestion) {
  EXPECT_EQ(suggestion("totl", {"total"}), "; did you mean `total`?");
  EXPECT_EQ(suggestion("q", {"total"}), "");
}

}  // namespace
}  // namespace coconet
