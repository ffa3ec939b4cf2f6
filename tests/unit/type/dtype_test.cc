#include "coconet/type/dtype.h"

#include <gtest/gtest.h>

namespace coconet {
namespace {

TEST(DType, NamesParseBack) {
  for (const DTypeKind kind : {DTypeKind::f16, DTypeKind::bf16, DTypeKind::f32, DTypeKind::f64,
                               DTypeKind::i32, DTypeKind::i64, DTypeKind::boolean}) {
    EXPECT_EQ(dtype_kind_of(name_of(kind)), kind);
  }
  EXPECT_EQ(dtype_kind_of("f8"), std::nullopt);
}

TEST(DType, AParameterIsATypeOfItsOwn) {
  const DType t(DTypeKind::f16, "T");
  EXPECT_NE(t, f16);
  EXPECT_EQ(t.text(), "T");
  EXPECT_EQ(f16.text(), "f16");
}

TEST(DType, SixteenBitsAccumulateInF32) {
  EXPECT_EQ(accumulator_of(DTypeKind::f16), DTypeKind::f32);
  EXPECT_EQ(accumulator_of(DTypeKind::bf16), DTypeKind::f32);
  EXPECT_EQ(accumulator_of(DTypeKind::f64), DTypeKind::f64);
  EXPECT_EQ(accumulator_of(DTypeKind::i32), DTypeKind::i32);
}

TEST(DType, WidensOnlyWhereEveryValueIsKept) {
  EXPECT_TRUE(widens(DTypeKind::f16, DTypeKind::f32));
  EXPECT_TRUE(widens(DTypeKind::bf16, DTypeKind::f32));
  EXPECT_TRUE(widens(DTypeKind::f32, DTypeKind::f64));
  EXPECT_TRUE(widens(DTypeKind::i32, DTypeKind::i32));
  EXPECT_FALSE(widens(DTypeKind::i32, DTypeKind::i64));  // i32 sums wrap
  EXPECT_FALSE(widens(DTypeKind::f32, DTypeKind::f16));
  EXPECT_FALSE(widens(DTypeKind::f16, DTypeKind::bf16));  // fewer significant bits
  EXPECT_FALSE(widens(DTypeKind::bf16, DTypeKind::f16));  // smaller range
  EXPECT_FALSE(widens(DTypeKind::i32, DTypeKind::f64));
  EXPECT_FALSE(widens(DTypeKind::boolean, DTypeKind::i32));
}

}  // namespace
}  // namespace coconet
