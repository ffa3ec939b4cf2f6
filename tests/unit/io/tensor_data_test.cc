#include "coconet/io/tensor_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/files.h"

namespace coconet {
namespace {

TEST(TensorData, AnElementThatIsNotThereIsTheCallersMistake) {
  TensorData tensor = TensorData::zeros(DTypeKind::f16, {2, 3});
  for (const std::int64_t i : {-1, 6}) {
    const std::string words =
        "found element " + std::to_string(i) + " of a tensor of 6; the first is 0";
    EXPECT_EQ(test::user_error_of([&] { tensor.set_value(i, 1); }), words);
    EXPECT_EQ(test::user_error_of([&] { tensor.value(i); }), words);
  }
}

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::uint16_t bits16(DTypeKind dtype, double value) {
  TensorData tensor = TensorData::zeros(dtype, {1});
  tensor.set_value(0, value);
  std::uint16_t bits = 0;
  std::memcpy(&bits, tensor.bytes.data(), 2);
  return bits;
}

TEST(TensorData, CountsElements) {
  EXPECT_EQ(element_count(std::vector<std::int64_t>{}), 1);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{2, 3, 4}), 24);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{0, 3}), 0);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{kMax}), kMax);
}

TEST(TensorData, CountsRefuseOverflowAndNegativeDims) {
  EXPECT_EQ(element_count(std::vector<std::int64_t>{kMax, 2}), std::nullopt);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{0, kMax, 2}), std::nullopt);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{-1}), std::nullopt);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{0, -1}), std::nullopt);
  EXPECT_EQ(byte_count(DTypeKind::f32, std::vector<std::int64_t>{kMax}), std::nullopt);
  EXPECT_EQ(byte_count(DTypeKind::f16, std::vector<std::int64_t>{kMax / 2}), kMax - 1);
}

TEST(TensorData, EveryDtypeGivesBackWhatWasSet) {
  for (const DTypeKind dtype : {DTypeKind::f16, DTypeKind::bf16, DTypeKind::f32, DTypeKind::f64,
                                DTypeKind::i32, DTypeKind::i64, DTypeKind::boolean}) {
    TensorData tensor = TensorData::zeros(dtype, {2, 2});
    EXPECT_EQ(tensor.elements(), 4);
    EXPECT_EQ(tensor.bytes.size(), 4u * size_of(dtype));
    tensor.set_value(2, 1);
    EXPECT_EQ(tensor.value(1), 0);
    EXPECT_EQ(tensor.value(2), 1);
    EXPECT_EQ(tensor.value(3), 0);
    if (dtype == DTypeKind::boolean) continue;
    tensor.set_value(3, -96);
    EXPECT_EQ(tensor.value(3), -96);
  }
}

// Widening then narrowing is the identity on every bit pattern (but for the payload of a NaN).
TEST(TensorData, SixteenBitTypesRoundTripEveryPattern) {
  for (const DTypeKind dtype : {DTypeKind::f16, DTypeKind::bf16}) {
    TensorData tensor = TensorData::zeros(dtype, {1});
    for (int pattern = 0; pattern < 0x10000; ++pattern) {
      const auto bits = static_cast<std::uint16_t>(pattern);
      std::memcpy(tensor.bytes.data(), &bits, 2);
      const double value = tensor.value(0);
      if (std::isnan(value)) continue;
      ASSERT_EQ(bits16(dtype, value), bits) << name_of(dtype) << " " << pattern;
    }
  }
}

TEST(TensorData, SixteenBitTypesRoundOnceToNearestEven) {
  EXPECT_EQ(bits16(DTypeKind::f16, 1 + 0x1p-11), 0x3c00);            // half: to even, down
  EXPECT_EQ(bits16(DTypeKind::f16, 1 + 3 * 0x1p-11), 0x3c02);        // half: to even, up
  EXPECT_EQ(bits16(DTypeKind::f16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);  // lost if f32 came between
  EXPECT_EQ(bits16(DTypeKind::f16, 65519), 0x7bff);                  // below the half: the maximum
  EXPECT_EQ(bits16(DTypeKind::f16, 65520), 0x7c00);                  // infinity
  EXPECT_EQ(bits16(DTypeKind::f16, 0x1p-25), 0x0000);                // half of the smallest
  EXPECT_EQ(bits16(DTypeKind::f16, 0x1.8p-25), 0x0001);              // above it
  EXPECT_EQ(bits16(DTypeKind::f16, -0x1.ffep-15), 0x83ff + 1);       // carries into normal
  EXPECT_EQ(bits16(DTypeKind::bf16, 1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(bits16(DTypeKind::bf16, 1 + 0x1p-8 + 0x1p-50), 0x3f81);
  EXPECT_EQ(bits16(DTypeKind::bf16, 1e300), 0x7f80);
  EXPECT_EQ(bits16(DTypeKind::bf16, -0.0), 0x8000);
  EXPECT_EQ(bits16(DTypeKind::bf16, std::nan("")) & 0x7fc0, 0x7fc0);
  EXPECT_EQ(bits16(DTypeKind::f16, -std::numeric_limits<double>::infinity()), 0xfc00);
}

TEST(TensorData, IntegersAreExact) {
  TensorData tensor = TensorData::zeros(DTypeKind::i64, {1});
  tensor.set_integer(0, (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(tensor.integer(0), (std::int64_t{1} << 53) + 1);
  tensor.set_value(0, -0x1p63);
  EXPECT_EQ(tensor.integer(0), std::numeric_limits<std::int64_t>::min());
}

TEST(TensorData, ScalarsAndEmptyTensors) {
  EXPECT_EQ(TensorData::zeros(DTypeKind::f32, {}).elements(), 1);
  EXPECT_EQ(TensorData::zeros(DTypeKind::f32, {0, 3}).bytes.size(), 0u);
  EXPECT_EQ(text_of_shape(std::vector<std::int64_t>{}), "[]");
  EXPECT_EQ(text_of_shape(std::vector<std::int64_t>{2, 3}), "[2, 3]");
}

}  // namespace
}  // namespace coconet
