#include "coconet/interp/global_tensor.h"

#include <gtest/gtest.h>

#include "coconet/base/error.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

using Values = std::vector<double>;
const Dim kR = Dim::named("R"), kC = Dim::named("C");

TEST(GlobalTensor, AssemblingWhatWasScatteredGivesItBack) {
  const Setting setting{{{"R", 7}, {"C", 300}}, {{2, 3}}};
  const Sliced rows{Slice::dim(0)}, all{Slice::all()};
  for (const Layout& layout :
       {Layout(2), Layout(2).with(0, rows), Layout(2).with(0, rows).with(1, rows),
        Layout(2).with(1, rows).with(0, all), Layout(2).with(0, Rooted{1}),
        Layout(2).with(0, Local{}).with(1, rows), Layout(2).with(0, Partial{}).with(1, Local{})}) {
    const TensorType type{f32, {kR, kC}, layout};
    std::int64_t count = 1;
    for (std::int64_t size : global_sizes(type, setting)) count *= size;
    const Bytes global = bytes_from(DTypeKind::f32, ramp(count));
    EXPECT_EQ(assemble(type, setting, scatter_global(type, setting, global)), global);
  }
}

TEST(GlobalTensor, LocalAndPartialAxesLeadInMeshOrder) {
  const Setting setting{{{"R", 1}}, {{2, 3}}};
  const TensorType type{f32, {kR}, Layout(2).with(0, Partial{}).with(1, Local{})};
  EXPECT_EQ(global_sizes(type, setting), (std::vector<std::int64_t>{2, 3, 1}));
  const Pieces pieces = scatter_global(type, setting, bytes_from(DTypeKind::f32, ramp(6)));
  EXPECT_EQ(numbers(DTypeKind::f32, pieces[4]), Values{4});
  const GlobalValue value = global_value(type, setting, pieces);
  EXPECT_EQ(value.sizes, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(numbers(value.kind, value.bytes), (Values{3, 5, 7}));
}

TEST(GlobalTensor, ASixteenBitPartialHasAnUnroundedValue) {
  const Setting setting{{{"R", 1}}, {{2}}};
  const TensorType type{f16, {kR}, partial()};
  const Pieces pieces = scatter_global(type, setting, bytes_from(DTypeKind::f16, {2048, 1}));
  const GlobalValue value = global_value(type, setting, pieces);
  EXPECT_EQ(value.kind, DTypeKind::f32);
  EXPECT_EQ(numbers(value.kind, value.bytes), Values{2049});
}

TEST(GlobalTensor, WrongSizesAreErrorsOfTheData) {
  const Setting setting{{{"R", 4}}, {{2}}};
  const TensorType type{f32, {kR}, sliced(0)};
  EXPECT_THROW(scatter_global(type, setting, Bytes(12)), UserError);
  EXPECT_THROW(assemble(type, setting, Pieces{Bytes(8)}), UserError);
  EXPECT_THROW(assemble(type, setting, Pieces{Bytes(8), Bytes(4)}), UserError);
}

}  // namespace
}  // namespace coconet::interp
