#include "coconet/source/cpp/names.h"

#include <gmock/gmock.h>

namespace coconet::source::cpp {
namespace {

TEST(Names, OfAProgramStayAsTheyAre) {
  Names names;
  for (const char* name : {"x", "drop", "m2", "out", "SEQ", "N", "beta1", "np", "group"}) {
    EXPECT_EQ(names.fresh(name), name);
    EXPECT_EQ(dim_name(name), name);
  }
}

TEST(Names, ReservedAndTakenOnesGetANumber) {
  Names names;
  EXPECT_EQ(names.fresh("double"), "double_2");
  EXPECT_EQ(names.fresh("double"), "double_3");
  EXPECT_EQ(names.fresh("static_cast"), "static_cast_2");
  EXPECT_EQ(names.fresh("EOF"), "EOF_2");
  EXPECT_EQ(names.fresh("INT_MAX"), "INT_MAX_2");
  EXPECT_EQ(names.fresh("for_each_tile"), "for_each_tile_2");
  EXPECT_EQ(names.fresh("y"), "y");
  EXPECT_EQ(names.fresh("y"), "y_2");
  EXPECT_EQ(names.fresh("y'"), "y_p");
  EXPECT_EQ(names.fresh("y_p"), "y_p_2");
}

TEST(Names, NoneHasWhatTheCompilerKeepsForItself) {
  Names names;
  EXPECT_EQ(names.fresh("__x"), "v_x");
  EXPECT_EQ(names.fresh("_Bool"), "v_Bool");
  EXPECT_EQ(names.fresh("a__b"), "a_b");
}

TEST(Names, DimsNeverMeet) {
  std::set<std::string> seen;
  for (const char* name : {"class", "class_x", "class_ux", "N'", "N''", "N_q", "N_q_x", "_N", "__N",
                           "d_N", "a__b", "a_b", "INT_MAX", "INT_MAX_x", "Call", "std", "not_eq"}) {
    EXPECT_TRUE(seen.insert(dim_name(name)).second) << name << " " << dim_name(name);
  }
  EXPECT_EQ(dim_name("class"), "class_x");
  EXPECT_EQ(dim_name("N'"), "N_q_x");
}

}  // namespace
}  // namespace coconet::source::cpp
