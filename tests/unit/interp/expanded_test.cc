// What graph/expand.h makes of an operation means what the operation means.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

const Dim kN = Dim::named("N"), kR = Dim::named("R"), kC = Dim::named("C");

Pieces result_of(const Op& op, const DType& dtype, std::int64_t n, const Layout& layout,
                 int ranks) {
  Sample s({ranks}, {{"N", n}});
  const NodeId x = s.input("x", {dtype, {kN}, layout}, noise(n, 7));
  s.output("out", s.add_visible(op, {x}, "out"));
  return s.pieces_of("out");
}

// Bit for bit, on every rank, for any rank count.
TEST(Expanded, TensorWideReductionsOfFlatSlicesAreThoseOfTheWhole) {
  const std::vector<Op> ops = {Norm{},
                               Norm{f32},
                               Reduce{ReduceFn::sum, {}},
                               Reduce{ReduceFn::mean, {}},
                               Reduce{ReduceFn::max, {}},
                               Reduce{ReduceFn::min, {}},
                               Reduce{ReduceFn::prod, {}}};
  for (const DType& dtype : {f16, bf16, f32}) {
    for (const std::int64_t n : {1, 1023, 1025, 5000}) {
      for (const Op& op : ops) {
        const Bytes whole = result_of(op, dtype, n, Layout(1), 1).at(0);
        for (const int ranks : {1, 2, 3, 7}) {
          SCOPED_TRACE(std::string(name_of(op)) + " of " + dtype.text() + ", N " +
                       std::to_string(n) + ", ranks " + std::to_string(ranks));
          for (const Bytes& piece : result_of(op, dtype, n, flat(), ranks)) {
            EXPECT_EQ(piece, whole);
          }
        }
      }
    }
  }
}

TEST(Expanded, EmptyTensorsGiveTheSameIdentities) {
  for (const ReduceFn fn : {ReduceFn::sum, ReduceFn::max, ReduceFn::min, ReduceFn::prod}) {
    const Bytes whole = result_of(Reduce{fn, {}}, f32, 0, Layout(1), 1).at(0);
    EXPECT_EQ(result_of(Reduce{fn, {}}, f32, 0, flat(), 3).at(2), whole);
  }
}

std::vector<double> by_rows_or_columns(const Op& op, const Layout& layout, int ranks) {
  Sample s({ranks}, {{"R", 3}, {"C", 37}});
  std::vector<NodeId> inputs = {s.input("x", {f32, {kR, kC}, layout}, noise(3 * 37, 5))};
  const bool centred = std::holds_alternative<LayerNorm>(op);
  if (centred || std::holds_alternative<RmsNorm>(op)) {
    inputs.push_back(s.input("gamma", {f32, {kC}, s.whole()}, ramp(37, 0.25, 1)));
    if (centred) inputs.push_back(s.input("beta", {f32, {kC}, s.whole()}, ramp(37, -0.5, 2)));
    inputs.push_back(s.literal(1e-5));
  }
  s.output("out", s.add_visible(op, inputs, "out"));
  return s.value_of("out");
}

// Over slices by dims the sums are folded by rank: the same value but for rounding.
TEST(Expanded, OverSlicedDimsReassociates) {
  for (const Op& op :
       std::vector<Op>{Norm{}, Reduce{ReduceFn::mean, {}}, Reduce{ReduceFn::mean, {1}}, LayerNorm{},
                       RmsNorm{}, Softmax{}}) {
    const std::vector<double> whole = by_rows_or_columns(op, Layout(1), 1);
    for (const int ranks : {1, 2, 5}) {
      const std::vector<double> cut = by_rows_or_columns(op, sliced(1), ranks);
      ASSERT_EQ(cut.size(), whole.size());
      for (std::size_t i = 0; i < cut.size(); ++i) {
        EXPECT_NEAR(cut[i], whole[i], 1e-5 * (1 + std::abs(whole[i]))) << name_of(op);
      }
    }
  }
}

}  // namespace
}  // namespace coconet::interp
