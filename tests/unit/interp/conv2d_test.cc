#include <gtest/gtest.h>

#include "coconet/interp/product.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

const Dim kN = Dim::named("N"), kC = Dim::named("C"), kO = Dim::named("O");

std::vector<double> convolved(int ranks, const Layout& x_layout, const Layout& w_layout,
                              const Conv2d& op) {
  Sample s({ranks}, {{"N", 2}, {"C", 3}, {"O", 4}});
  const NodeId x = s.input("x", {f32, {kN, kC, 5, 4}, x_layout}, ramp(120));
  const NodeId w = s.input("w", {f32, {kO, kC, 3, 2}, w_layout}, ramp(72, 1, -30));
  s.output("out", s.add(op, {x, w}, "out"));
  return s.value_of("out");
}

// From the definition, element by element.
std::vector<double> wanted(int stride, int padding) {
  const int rows = (5 + 2 * padding - 3) / stride + 1, columns = (4 + 2 * padding - 2) / stride + 1;
  std::vector<double> out;
  for (int n = 0; n < 2; ++n) {
    for (int o = 0; o < 4; ++o) {
      for (int i = 0; i < rows * columns; ++i) {
        double sum = 0;
        for (int k = 0; k < 18; ++k) {
          const int c = k / 6, h = i / columns * stride + k / 2 % 3 - padding;
          const int at = i % columns * stride + k % 2 - padding;
          if (h < 0 || h >= 5 || at < 0 || at >= 4) continue;
          sum += (((n * 3 + c) * 5 + h) * 4 + at) * (o * 18 + k - 30.0);
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

TEST(InterpConv2d, EveryPlacementGivesTheSameSumsOfWholeNumbers) {
  const Layout whole(1);
  for (const auto& [stride, padding] : {std::pair{1, 0}, {2, 1}, {1, 3}}) {
    const Conv2d op{stride, padding, {}};
    const std::vector<double> want = wanted(stride, padding);
    for (int ranks : {1, 2, 3, 5}) {
      EXPECT_EQ(convolved(ranks, whole, whole, op), want);
      EXPECT_EQ(convolved(ranks, sliced(0), whole, op), want);
      EXPECT_EQ(convolved(ranks, whole, sliced(0), op), want);
      EXPECT_EQ(convolved(ranks, sliced(1), sliced(1), op), want);
      EXPECT_EQ(convolved(ranks, Layout(1).with(0, Rooted{0}), whole, op), want);
    }
  }
}

// PyTorch's conv2d of a 1 x 1 x 3 x 3 ramp by [[1, 2], [3, 4]].
TEST(InterpConv2d, AKnownValue) {
  Sample s({1}, {});
  const NodeId x = s.input("x", {f32, {1, 1, 3, 3}, Layout(1)}, ramp(9));
  const NodeId w = s.input("w", {f32, {1, 1, 2, 2}, Layout(1)}, ramp(4, 1, 1));
  s.output("out", s.add(Conv2d{}, {x, w}, "out"));
  EXPECT_EQ(s.value_of("out"), (std::vector<double>{27, 37, 57, 67}));
}

TEST(InterpConv2d, ZerosAroundAreMultiplied) {
  Sample s({1}, {});
  const NodeId x = s.input("x", {f32, {1, 1, 1, 1}, Layout(1)}, {2});
  const NodeId w = s.input("w", {f32, {1, 1, 1, 2}, Layout(1)}, {1.0 / 0.0, 1});
  s.output("out", s.add(Conv2d{1, 1, {}}, {x, w}, "out"));
  const std::vector<double> out = s.value_of("out");
  ASSERT_EQ(out.size(), 6u);
  EXPECT_TRUE(out[2] != out[2]);  // 0 * inf + 2 * 1
}

}  // namespace
}  // namespace coconet::interp
