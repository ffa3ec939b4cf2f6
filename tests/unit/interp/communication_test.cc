// Collectives and the free changes of placement.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coconet/base/error.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

using Values = std::vector<double>;
const Dim kN = Dim::named("N"), kR = Dim::named("R"), kC = Dim::named("C");
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One value a rank, all-reduced.
double all_reduced(DType dtype, Fold fold, const Values& values) {
  const int ranks = static_cast<int>(values.size());
  Sample s({ranks}, {});
  const NodeId x = s.input("x", {dtype, {}, local()}, values);
  s.output("out", s.add(AllReduce{fold, {0}}, {x}, "out"));
  const Pieces pieces = s.pieces_of("out");
  for (const Bytes& piece : pieces) EXPECT_EQ(piece, pieces[0]);
  return numbers(dtype.kind, pieces[0])[0];
}

TEST(Communication, FoldsInTheOrderOfRanks) {
  EXPECT_EQ(all_reduced(f32, Fold::sum, {1e8, 1, -1e8}), 0);
  EXPECT_EQ(all_reduced(f32, Fold::sum, {1e8, -1e8, 1}), 1);
  EXPECT_EQ(all_reduced(f32, Fold::prod, {2, 3, 4}), 24);
  EXPECT_TRUE(std::signbit(all_reduced(f32, Fold::sum, {-0.0, -0.0})));
}

TEST(Communication, SixteenBitFoldsAccumulateInF32AndRoundOnce) {
  Values small(257, 1.0 / 256);
  small[0] = 1;
  EXPECT_EQ(all_reduced(bf16, Fold::sum, small), 2);
  EXPECT_EQ(all_reduced(f16, Fold::sum, {60000, 60000, -60000}), 60000);
}

TEST(Communication, IntegersWrapAndNanSpreads) {
  EXPECT_EQ(all_reduced(i32, Fold::sum, {2147483647, 1}), -2147483648.0);
  for (Fold fold : {Fold::min, Fold::max}) {
    EXPECT_TRUE(std::isnan(all_reduced(f32, fold, {1, kNan, 2})));
    EXPECT_TRUE(std::isnan(all_reduced(f16, fold, {kNan, 1, 2})));
  }
  EXPECT_TRUE(std::signbit(all_reduced(f32, Fold::min, {0.0, -0.0})));
  EXPECT_FALSE(std::signbit(all_reduced(f32, Fold::max, {-0.0, 0.0})));
}

TEST(Communication, SeveralAxesFoldInMeshOrder) {
  Sample s({2, 2, 2}, {});
  Layout layout(3);
  for (int axis = 0; axis < 3; ++axis) layout = layout.with(axis, Local{});
  const NodeId x = s.input("x", {f32, {}, layout}, {1e8, 2, 1, 4, -1e8, 8, 3, 16});
  s.output("all", s.add(AllReduce{Fold::sum, {0, 1, 2}}, {x}, "all"));
  s.output("outer", s.add(AllReduce{Fold::sum, {0, 1}}, {x}, "outer"));
  // 1e8 + 2 + 1 + 4 in order of ranks: the spacing of f32 there is 8, and ties go to even.
  EXPECT_EQ(s.value_of("all"), Values{27});
  EXPECT_EQ(s.value_of("outer"), (Values{3, 30}));
}

TEST(Communication, ReduceScatterThenAllGatherIsAllReduce) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const Slice& slice : {Slice::dim(0), Slice::dim(1), Slice::range(0, 1), Slice::all()}) {
      Sample s({ranks}, {{"R", 5}, {"C", 601}});
      const NodeId x = s.input("x", {f16, {kR, kC}, partial()}, noise(5 * 601 * ranks, ranks));
      const NodeId rs = s.add(ReduceScatter{Fold::sum, slice, {0}}, {x}, "rs");
      s.output("ag", s.add(AllGather{{0}}, {rs}, "ag"));
      s.output("ar", s.add(AllReduce{Fold::sum, {0}}, {x}, "ar"));
      const NodeId rooted = s.add(ReduceTo{Fold::sum, ranks - 1, {0}}, {x}, "rooted");
      s.output("broadcast", s.add(Broadcast{{}, {0}}, {rooted}, "broadcast"));
      const Result result = s.run();
      EXPECT_EQ(result.outputs.at("ag"), result.outputs.at("ar"));
      EXPECT_EQ(result.outputs.at("broadcast"), result.outputs.at("ar"));
    }
  }
}

TEST(Communication, NestedSlicesAreGatheredFromTheInnermost) {
  Sample s({2, 3}, {{"R", 4}, {"C", 7}});
  const Layout inner = sliced(1, 1, 2).with(0, Sliced{Slice::range(0, 1)});
  const NodeId x = s.input("x", {f32, {kR, kC}, inner}, ramp(28));
  const NodeId half = s.add(AllGather{{0}}, {x}, "half");
  s.output("whole", s.add(AllGather{{1}}, {half}, "whole"));
  s.output("at_once", s.add(AllGather{{0, 1}}, {x}, "at_once"));
  EXPECT_EQ(s.value_of("whole"), ramp(28));
  EXPECT_EQ(s.value_of("at_once"), ramp(28));
}

// Data x tensor parallel: gradients local on the first axis, sliced by columns on the second; the
// state is cut in blocks on the first axis after that.
TEST(Communication, AGradientIsScatteredInsideItsColumns) {
  Sample s({2, 2}, {{"R", 40}, {"C", 101}});
  const Layout columns = sliced(1, 1, 2);
  const std::int64_t count = 40 * 101;
  const NodeId g = s.input("g", {f32, {kR, kC}, columns.with(0, Local{})}, ramp(2 * count));
  const NodeId rs = s.add(ReduceScatter{Fold::sum, Slice::all(), {0}}, {g}, "rs");
  s.output("rs", rs);
  s.output("ag", s.add(AllGather{{0}}, {rs}, "ag"));
  s.output("ar", s.add(AllReduce{Fold::sum, {0}}, {g}, "ar"));
  EXPECT_EQ(s.value_of("rs"), ramp(count, 2, count));
  EXPECT_EQ(s.pieces_of("ag"), s.pieces_of("ar"));
}

TEST(Communication, ReduceGivesTheRootAndNobodyElse) {
  Sample s({3}, {{"N", 2}});
  const NodeId x = s.input("x", {f32, {kN}, partial()}, ramp(6));
  s.output("out", s.add(ReduceTo{Fold::sum, 1, {0}}, {x}, "out"));
  const Pieces out = s.pieces_of("out");
  EXPECT_TRUE(out[0].empty());
  EXPECT_EQ(numbers(DTypeKind::f32, out[1]), (Values{6, 9}));
  EXPECT_TRUE(out[2].empty());
}

TEST(Communication, BroadcastOfALocalValueNamesItsRoot) {
  Sample s({3}, {{"N", 2}});
  const NodeId x = s.input("x", {f32, {kN}, local()}, ramp(6));
  s.output("out", s.add(Broadcast{2, {0}}, {x}, "out"));
  for (const Bytes& piece : s.pieces_of("out")) {
    EXPECT_EQ(numbers(DTypeKind::f32, piece), (Values{4, 5}));
  }
}

TEST(Communication, AsPartialCountsAValueOnce) {
  for (Fold fold : {Fold::sum, Fold::max, Fold::prod}) {
    Sample s({4}, {{"N", 3}});
    const NodeId x = s.input("x", {f32, {kN}, s.whole()}, {-1, 2, -3});
    const NodeId lifted = s.add(AsPartial{fold, {0}}, {x}, "lifted");
    s.output("out", s.add(AllReduce{fold, {0}}, {lifted}, "out"));
    EXPECT_EQ(s.value_of("out"), (Values{-1, 2, -3}));
  }
}

TEST(Communication, ShardAndRootKeepTheirPart) {
  Sample s({3}, {{"N", 4}});
  const NodeId x = s.input("x", {f32, {kN}, s.whole()}, ramp(4));
  s.output("shard", s.add(Shard{Slice::dim(0), {0}}, {x}, "shard"));
  s.output("root", s.add(RootOf{2, {0}}, {x}, "root"));
  const Pieces shard = s.pieces_of("shard"), root = s.pieces_of("root");
  EXPECT_EQ(numbers(DTypeKind::f32, shard[1]), (Values{2, 3}));
  EXPECT_TRUE(shard[2].empty());
  EXPECT_TRUE(root[0].empty());
  EXPECT_EQ(numbers(DTypeKind::f32, root[2]), ramp(4));
}

// What each of four ranks holds after its values 1, 2, 3, 4 are shifted.
Values shifted(int by, bool wrap) {
  Sample s({4}, {});
  const NodeId x = s.input("x", {f32, {}, local()}, {1, 2, 3, 4});
  s.output("out", s.add(Shift{by, wrap, {0}}, {x}, "out"));
  Values out;
  for (const Bytes& piece : s.pieces_of("out")) out.push_back(numbers(DTypeKind::f32, piece)[0]);
  return out;
}

TEST(Communication, ShiftHandsValuesOnAndFillsWithZeros) {
  EXPECT_EQ(shifted(1, false), (Values{0, 1, 2, 3}));
  EXPECT_EQ(shifted(-2, false), (Values{3, 4, 0, 0}));
  EXPECT_EQ(shifted(0, false), (Values{1, 2, 3, 4}));
  EXPECT_EQ(shifted(4, false), (Values{0, 0, 0, 0}));
  EXPECT_EQ(shifted(2147483647, false), (Values{0, 0, 0, 0}));
  EXPECT_EQ(shifted(1, true), (Values{4, 1, 2, 3}));
  EXPECT_EQ(shifted(-1, true), (Values{2, 3, 4, 1}));
  EXPECT_EQ(shifted(-7, true), (Values{4, 1, 2, 3}));
}

// Slices, partials and roots of other axes go on as they are.
TEST(Communication, AShiftCommutesWithCollectivesOfOtherAxes) {
  for (const std::vector<int>& mesh : {std::vector<int>{2, 3}, {3, 2}, {1, 4}, {4, 1}}) {
    Sample s(mesh, {{"N", 7}});
    const Op shift = Shift{1, false, {0}};
    const auto add = [&](const std::string& name, const Layout& layout, const Op& collective) {
      const NodeId x = s.input(name, {f16, {kN}, layout}, noise(7 * mesh[0] * mesh[1], 3));
      s.output(name + "1", s.add(shift, {s.add(collective, {x}, name + "c")}, name + "1"));
      s.output(name + "2", s.add(collective, {s.add(shift, {x}, name + "s")}, name + "2"));
      EXPECT_EQ(s.pieces_of(name + "1"), s.pieces_of(name + "2"));
    };
    const Layout stages = local(0, 2);
    add("sum", stages.with(1, Partial{Fold::sum}), AllReduce{Fold::sum, {1}});
    add("least", stages.with(1, Local{}), AllReduce{Fold::min, {1}});
    add("root", stages.with(1, Local{}), Broadcast{0, {1}});
  }
}

TEST(Communication, AnExchangeKeepsTheGlobalValue) {
  const std::vector<Slice> slices = {Slice::dim(0), Slice::dim(1), Slice::range(0, 1),
                                     Slice::all()};
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const Slice& from : slices) {
      for (const Slice& to : slices) {
        if (from == to) continue;
        Sample s({ranks}, {{"R", 5}, {"C", 421}});
        const Layout cut = s.whole().with(0, Sliced{from});
        const NodeId x = s.input("x", {f32, {kR, kC}, cut}, ramp(5 * 421));
        s.output("out", s.add(AllToAll{from, to, {0}}, {x}, "out"));
        EXPECT_EQ(s.value_of("out"), ramp(5 * 421)) << ranks << from.text() << to.text();
      }
    }
  }
}

TEST(Communication, AStackIsTheRanksValuesInOrder) {
  Sample s({3, 2}, {{"N", 2}});
  const NodeId x = s.input("x", {f32, {kN}, local(0, 2)}, ramp(6));
  const NodeId stacked = s.add(Stack{{0}}, {x}, "stacked");
  s.output("whole", s.add(AllGather{{0}}, {stacked}, "whole"));
  EXPECT_EQ(s.value_of("whole"), ramp(6));
  const Dim ranks = Dim::named("a");
  EXPECT_EQ(s.type(stacked).shape, (Shape{ranks, kN}));
  EXPECT_EQ(s.pieces_of("whole")[0].size(), 6 * sizeof(float));
}

TEST(Communication, ARootBeyondTheMeshIsAnErrorOfTheData) {
  Sample s({2}, {{"N", 4}});
  const NodeId x = s.input("x", {f32, {kN}, s.whole()}, ramp(4));
  s.output("root", s.add(RootOf{2, {0}}, {x}, "root"));
  try {
    s.run();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("root 2 is no rank of axis a, which has 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace coconet::interp
