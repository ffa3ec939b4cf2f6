#include "coconet/type/layout.h"

#include <gtest/gtest.h>

#include "coconet/base/error.h"
#include "coconet/type/tensor_type.h"
#include "tests/graph_fixture.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

const Mesh kMesh{"world", {"dp", "tp"}};
constexpr int dp = 0;
constexpr int tp = 1;

TEST(Layout, PrintsOnlyWhatIsNotReplicated) {
  const Layout whole(2);
  EXPECT_EQ(whole.text(kMesh), "");
  EXPECT_TRUE(whole.all_replicated());
  EXPECT_EQ(whole.with(tp, sliced(0, 1)).text(kMesh), "sliced(0..1)@tp");
  EXPECT_EQ(whole.with(tp, partial()).with(dp, local()).text(kMesh), "local@dp partial(+)@tp");
  EXPECT_EQ(Layout(1).with(0, rooted(3)).text(Mesh{"world", {"tp"}}), "rooted(3)");
}

TEST(Layout, SlicesThatDoNotOverlapCommute) {
  const Layout a = Layout(2).with(dp, sliced(0)).with(tp, sliced(1));
  const Layout b = Layout(2).with(tp, sliced(1)).with(dp, sliced(0));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.text(kMesh), "sliced(0)@dp sliced(1)@tp");
}

TEST(Layout, OverlappingSlicesKeepTheirOrder) {
  const Layout a = Layout(2).with(dp, sliced(0)).with(tp, sliced(0));
  const Layout b = Layout(2).with(tp, sliced(0)).with(dp, sliced(0));
  EXPECT_NE(a, b);
  EXPECT_EQ(a.text(kMesh), "sliced(0)@[dp,tp]");
  EXPECT_EQ(b.text(kMesh), "sliced(0)@[tp,dp]");
}

TEST(Layout, ALaterRangeContainsTheEarlier) {
  const Layout a = Layout(2).with(tp, sliced(1)).with(dp, sliced_flat());
  EXPECT_EQ(a.text(kMesh), "sliced(1)@tp sliced(*)@dp");
  EXPECT_EQ(a.slice_order(), (AxisList{tp, dp}));
  EXPECT_EQ(Layout(2).with(dp, sliced(0)).with(tp, sliced(0, 1)).text(kMesh),
            "sliced(0)@dp sliced(0..1)@tp");
  EXPECT_THROW(Layout(2).with(dp, sliced_flat()).with(tp, sliced(1)), UserError);
  EXPECT_THROW(Layout(2).with(dp, sliced(0, 1)).with(tp, sliced(0)), UserError);
  EXPECT_THROW(Layout(2).with(dp, sliced(0, 1)).with(tp, sliced(1, 2)), UserError);
}

// One layout, whatever the order in which slices that commute were added.
TEST(Layout, HasOneCanonicalOrder) {
  const Layout whole(3);
  const Layout first = whole.with(1, sliced(1)).with(2, sliced(0)).with(0, sliced(0));
  const Layout middle = whole.with(2, sliced(0)).with(1, sliced(1)).with(0, sliced(0));
  const Layout last = whole.with(2, sliced(0)).with(0, sliced(0)).with(1, sliced(1));
  EXPECT_EQ(first, middle);
  EXPECT_EQ(first, last);
  EXPECT_EQ(first.slice_order(), (AxisList{1, 2, 0}));
}

TEST(Layout, ReplacingAPlacementForgetsItsSlice) {
  const Layout a = Layout(2).with(dp, sliced(0)).with(tp, sliced(0)).with(dp, replicated());
  EXPECT_EQ(a, Layout(2).with(tp, sliced(0)));
  // Sliced anew, the axis cuts last.
  EXPECT_EQ(a.with(dp, sliced(0)).text(kMesh), "sliced(0)@[tp,dp]");
}

TEST(TensorType, RefusesSlicesThatItHasNotTheDimsFor) {
  const auto type = [](const Placement& placement) {
    return TensorType{f32, {Dim::named("B"), Dim(1)}, Layout(2).with(tp, placement)};
  };
  EXPECT_NO_THROW(validate(type(sliced(0)), kMesh));
  EXPECT_NO_THROW(validate(type(sliced_flat()), kMesh));
  EXPECT_THROW(validate(type(sliced(1)), kMesh), UserError);     // a literal 1
  EXPECT_THROW(validate(type(sliced(0, 1)), kMesh), UserError);  // the same
  EXPECT_THROW(validate(type(sliced(2)), kMesh), UserError);
}

TEST(TensorType, AllPartialAxesHaveOneOperation) {
  const Layout max = Layout(2).with(dp, partial(Fold::max));
  EXPECT_NO_THROW(validate({f32, {}, max.with(tp, partial(Fold::max))}, kMesh));
  EXPECT_THROW(validate({f32, {}, max.with(tp, partial())}, kMesh), UserError);
}

TEST(Mesh, RanksAreRowMajor) {
  const MeshSizes mesh{{2, 3}};
  EXPECT_EQ(mesh.ranks(), 6);
  EXPECT_EQ(mesh.coordinates(4), (std::vector<int>{1, 1}));
  EXPECT_EQ(mesh.rank({1, 1}), 4);
  EXPECT_EQ(mesh.group(4, {1}), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(mesh.group(4, {0}), (std::vector<int>{1, 4}));
  EXPECT_EQ(mesh.group(4, {0, 1}).size(), 6u);
}

}  // namespace
}  // namespace coconet
