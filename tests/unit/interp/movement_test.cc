// What transpose, reshape, narrow and concat give, on whole and on sliced operands.
#include <gtest/gtest.h>

#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

const Dim kB = Dim::named("B"), kS = Dim::named("S"), kH = Dim::named("H"), kT = Dim::named("T");
const Sizes kSizes = {{"B", 2}, {"S", 3}, {"H", 5}, {"T", 7}};

std::vector<double> moved(const Op& op, const std::vector<TensorType>& types, int ranks) {
  Sample s({ranks}, kSizes);
  std::vector<NodeId> inputs;
  double first = 0;
  for (const TensorType& type : types) {
    const std::int64_t count = product_of(type.shape).bind(kSizes);
    inputs.push_back(s.input("x" + std::to_string(inputs.size()), type, ramp(count, 1, first)));
    first += static_cast<double>(count);
  }
  s.output("out", s.add(op, inputs, "out"));
  return s.value_of("out");
}

std::vector<double> transposed(int a, int b, int c, const std::vector<int>& order) {
  const std::vector<int> sizes = {a, b, c}, strides = {b * c, c, 1};
  std::vector<double> out;
  for (int i = 0; i < sizes[order[0]]; ++i) {
    for (int j = 0; j < sizes[order[1]]; ++j) {
      for (int k = 0; k < sizes[order[2]]; ++k) {
        out.push_back(i * strides[order[0]] + j * strides[order[1]] + k * strides[order[2]]);
      }
    }
  }
  return out;
}

TEST(Movement, TransposeMovesSlicesWithTheirDims) {
  for (int ranks : {1, 2, 4}) {
    for (const std::vector<int>& order :
         {std::vector<int>{2, 0, 1}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {0, 1, 2}}) {
      const std::vector<double> want = transposed(2, 3, 5, order);
      EXPECT_EQ(moved(Transpose{order}, {{f32, {kB, kS, kH}, Layout(1)}}, ranks), want);
      EXPECT_EQ(moved(Transpose{order}, {{f32, {kB, kS, kH}, sliced(1)}}, ranks), want);
    }
    const Layout rows = Layout(1).with(0, Sliced{Slice::range(0, 1)});
    EXPECT_EQ(moved(Transpose{{2, 0, 1}}, {{f32, {kB, kS, kH}, rows}}, ranks),
              transposed(2, 3, 5, {2, 0, 1}));
  }
}

TEST(Movement, ReshapeKeepsTheOrder) {
  const Layout rows = Layout(1).with(0, Sliced{Slice::range(0, 1)});
  for (int ranks : {1, 2, 4}) {
    const std::vector<double> want = ramp(30);
    EXPECT_EQ(moved(Reshape{{kB * kS, kH}}, {{i32, {kB, kS, kH}, rows}}, ranks), want);
    EXPECT_EQ(moved(Reshape{{kB, kS, kH}}, {{i32, {kB * kS, kH}, sliced(0)}}, ranks), want);
    EXPECT_EQ(moved(Reshape{{kB * kS * kH}}, {{i32, {kB, kS, kH}, flat()}}, ranks), want);
    EXPECT_EQ(moved(Reshape{{kH, Dim(1), kB, kS}}, {{i32, {kH, kB * kS}, sliced(1)}}, ranks), want);
  }
}

TEST(Movement, NarrowTakesAPartOfADim) {
  for (const Layout& layout : {Layout(1), sliced(0), partial()}) {
    Sample s({2}, kSizes);
    const std::int64_t copies = layout.is<Partial>(0) ? 2 : 1;
    const NodeId x = s.input("x", {f32, {kB, 3 * kH}, layout}, ramp(30 * copies));
    s.output("out", s.add(Narrow{1, kH, 2 * kH}, {x}, "out"));
    std::vector<double> want;
    for (int i = 0; i < 2; ++i) {
      for (int j = 5; j < 15; ++j) want.push_back(i * 15 + j);
    }
    if (copies == 2) {
      for (double& value : want) value = 2 * value + 30;
    }
    EXPECT_EQ(s.value_of("out"), want);
  }
}

TEST(Movement, ConcatJoinsAlongADim) {
  std::vector<double> want;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 5; ++j) want.push_back(i * 5 + j);
    for (int j = 0; j < 10; ++j) want.push_back(10 + i * 10 + j);
  }
  for (const Layout& layout : {Layout(1), sliced(0)}) {
    EXPECT_EQ(moved(Concat{1, {}}, {{f32, {kB, kH}, layout}, {f32, {kB, 2 * kH}, layout}}, 2),
              want);
  }
  const std::vector<double> joined =
      moved(Concat{0, kT}, {{f32, {kB, kS}, sliced(1)}, {f32, {kH, kS}, sliced(1)}}, 3);
  EXPECT_EQ(joined, ramp(21));
}

}  // namespace
}  // namespace coconet::interp
