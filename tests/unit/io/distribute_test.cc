#include "coconet/io/distribute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "coconet/base/error.h"

namespace coconet {
namespace {

using Sizes = std::vector<std::int64_t>;

TensorData counted(DTypeKind dtype, Sizes shape) {
  TensorData tensor = TensorData::zeros(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, static_cast<double>(i));
  return tensor;
}

std::vector<std::int64_t> values(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> out(bytes.size() / 8);
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Every rank takes what Piece::global says, element by element, and what they put back into a
// tensor of zeros is the tensor (each element must be held by some rank).
void expect_round_trip(const Sizes& sizes, const Layout& layout, const MeshSizes& mesh) {
  const TensorData file = counted(DTypeKind::i64, file_shape(sizes, layout, mesh));
  TensorData back = TensorData::zeros(DTypeKind::i64, file.shape);
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const Piece piece(sizes, layout, mesh, mesh.coordinates(rank));
    const std::vector<std::byte> local = take_piece(file, sizes, layout, mesh, rank);
    ASSERT_EQ(local.size(), static_cast<std::size_t>(piece.count() * 8));
    const std::vector<std::int64_t> held = values(local);
    std::int64_t entry = 0;
    for (int axis = 0; axis < layout.axes(); ++axis) {
      if (!layout.is<Partial>(axis) && !layout.is<Local>(axis)) continue;
      entry = entry * mesh.sizes[axis] + mesh.coordinates(rank)[axis];
    }
    for (std::int64_t i = 0; i < piece.count(); ++i) {
      ASSERT_EQ(held[i], entry * piece.global_count() + piece.global(i)) << rank << " " << i;
    }
    put_piece(back, sizes, layout, mesh, rank, local);
  }
  EXPECT_EQ(back, file) << text_of_shape(file.shape);
}

TEST(Distribute, UnevenAndEmptySlices) {
  const Sizes sizes{7, 3};
  const Layout rows = Layout(1).with(0, Sliced{Slice::dim(0)});
  const TensorData tensor = counted(DTypeKind::i64, sizes);
  const auto take = [&](int ranks, int rank) {
    const MeshSizes mesh{{ranks}};
    return values(take_piece(tensor, Piece(sizes, rows, mesh, {rank})));
  };
  EXPECT_EQ(take(3, 1), (Sizes{9, 10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(take(3, 2), (Sizes{18, 19, 20}));
  EXPECT_EQ(take(5, 3), (Sizes{18, 19, 20}));
  EXPECT_EQ(take(5, 4), Sizes{});
}

TEST(Distribute, ColumnsAreGatheredRowByRow) {
  const Sizes sizes{2, 5};
  const Layout columns = Layout(1).with(0, Sliced{Slice::dim(1)});
  const TensorData tensor = counted(DTypeKind::i64, sizes);
  const auto take = [&](int rank) {
    return values(take_piece(tensor, Piece(sizes, columns, MeshSizes{{2}}, {rank})));
  };
  EXPECT_EQ(take(0), (Sizes{0, 1, 2, 5, 6, 7}));
  EXPECT_EQ(take(1), (Sizes{3, 4, 8, 9}));
}

TEST(Distribute, PutLeavesOtherElements) {
  const Sizes sizes{2, 5};
  const Piece piece(sizes, Layout(1).with(0, Sliced{Slice::dim(1)}), MeshSizes{{2}}, {1});
  TensorData tensor = counted(DTypeKind::i64, sizes);
  put_piece(tensor, piece, TensorData::zeros(DTypeKind::i64, {4}).bytes);
  EXPECT_EQ(values(tensor.bytes), (Sizes{0, 1, 2, 0, 0, 5, 6, 7, 0, 0}));
}

TEST(Distribute, EveryLayoutRoundTrips) {
  const std::vector<Placement> placements{Replicated{},
                                          Sliced{Slice::dim(0)},
                                          Sliced{Slice::dim(1)},
                                          Sliced{Slice::dim(2)},
                                          Sliced{Slice::range(0, 1)},
                                          Sliced{Slice::range(1, 2)},
                                          Sliced{Slice::all()},
                                          Partial{Fold::sum},
                                          Rooted{0},
                                          Local{}};
  for (const Sizes& sizes : std::vector<Sizes>{{3, 5, 7}, {0, 5, 7}, {1, 1, 1}, {2, 64, 33}}) {
    for (const Placement& first : placements) {
      for (const Placement& second : placements) {
        for (const bool reversed : {false, true}) {
          Layout layout(2);
          try {
            layout = layout.with(reversed ? 1 : 0, first).with(reversed ? 0 : 1, second);
          } catch (const UserError&) {
            continue;  // a slice that neither equals nor contains the earlier one
          }
          SCOPED_TRACE(text_of(first) + " then " + text_of(second));
          expect_round_trip(sizes, layout, MeshSizes{{2, 3}});
          expect_round_trip(sizes, layout, MeshSizes{{4, 1}});
        }
      }
    }
  }
}

TEST(Distribute, PartialAndLocalAxesHaveLeadingDimsInMeshOrder) {
  const MeshSizes mesh{{2, 3, 4}};
  const Layout layout =
      Layout(3).with(2, Local{}).with(0, Partial{Fold::sum}).with(1, Sliced{Slice::dim(0)});
  EXPECT_EQ(file_shape({5}, layout, mesh), (Sizes{2, 4, 5}));
  EXPECT_EQ(file_shape({}, Layout(3), mesh), Sizes{});
  const TensorData file = counted(DTypeKind::i64, {2, 4, 5});
  const int rank = mesh.rank({1, 2, 3});
  EXPECT_EQ(values(take_piece(file, {5}, layout, mesh, rank)), Sizes{39});
}

TEST(Distribute, OnlyTheRootHoldsARootedTensor) {
  const MeshSizes mesh{{3}};
  const Layout layout = Layout(1).with(0, Rooted{1});
  const TensorData file = counted(DTypeKind::i64, {2});
  EXPECT_EQ(take_piece(file, {2}, layout, mesh, 0).size(), 0u);
  EXPECT_EQ(values(take_piece(file, {2}, layout, mesh, 1)), (Sizes{0, 1}));
}

TEST(Distribute, ScalarsAreWhole) {
  const TensorData file = counted(DTypeKind::f16, {});
  EXPECT_EQ(take_piece(file, {}, Layout(1), MeshSizes{{3}}, 2).size(), 2u);
}

TEST(Distribute, MismatchesAreOurFault) {
  TensorData tensor = counted(DTypeKind::i64, {2, 2});
  const Piece piece({4}, Layout(1), MeshSizes{{1}}, {0});
  EXPECT_THROW(take_piece(tensor, piece), InternalError);
  const Piece fits({2, 2}, Layout(1), MeshSizes{{1}}, {0});
  EXPECT_THROW(put_piece(tensor, fits, std::vector<std::byte>(31)), InternalError);
  EXPECT_THROW(take_piece(tensor, {2, 2}, Layout(1).with(0, Local{}), MeshSizes{{1}}, 0),
               InternalError);
}

}  // namespace
}  // namespace coconet
