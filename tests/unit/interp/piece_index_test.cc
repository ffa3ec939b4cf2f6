#include "coconet/interp/piece_index.h"

#include <gtest/gtest.h>

#include "coconet/base/error.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

const MeshSizes kMesh{{2, 3}};

std::vector<Layout> layouts() {
  const Layout whole(2);
  const Sliced rows{Slice::dim(0)}, columns{Slice::dim(1)}, range{Slice::range(0, 1)};
  const Sliced all{Slice::all()};
  return {whole,
          whole.with(0, rows),
          whole.with(0, rows).with(1, rows),
          whole.with(1, rows).with(0, range),
          whole.with(1, columns).with(0, all),
          whole.with(0, all).with(1, all),
          whole.with(0, Rooted{1}).with(1, columns),
          whole.with(0, Partial{}).with(1, range)};
}

TEST(PieceIndex, CoordinatesAgreeWithTheGlobalIndexAndInvert) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {5, 7, 3}, {1, 2, 1}, {40, 13, 9}, {0, 4, 2}};
  for (const auto& sizes : shapes) {
    for (const Layout& layout : layouts()) {
      for (int rank = 0; rank < kMesh.ranks(); ++rank) {
        const Piece piece(sizes, layout, kMesh, kMesh.coordinates(rank));
        Coordinates at(3);
        for (std::int64_t i = 0; i < piece.count(); ++i) {
          coordinates_of(piece, i, &at);
          ASSERT_EQ((at[0] * sizes[1] + at[1]) * sizes[2] + at[2], piece.global(i));
          ASSERT_EQ(local_of(piece, at), i);
        }
      }
    }
  }
}

TEST(PieceIndex, ElementsThatAreNotHeldHaveNoIndex) {
  const Piece piece({4, 2}, sliced(0), MeshSizes{{2}}, {1});
  EXPECT_EQ(local_of(piece, {1, 1}), -1);
  EXPECT_EQ(local_of(piece, {2, 0}), 0);
  const Piece elsewhere({4, 2}, Layout(1).with(0, Rooted{0}), MeshSizes{{2}}, {1});
  EXPECT_EQ(local_of(elsewhere, {0, 0}), -1);
}

TEST(PieceIndex, RangesOfDims) {
  const Piece piece({4, 6}, Layout(2).with(0, Sliced{Slice::dim(1)}).with(1, Sliced{Slice::dim(1)}),
                    kMesh, {1, 2});
  EXPECT_EQ(range_of(piece, 1).begin, 5);
  EXPECT_EQ(range_of(piece, 1).count, 1);
  EXPECT_EQ(range_of(piece, 0).count, 4);
  const Piece merged({4, 6}, Layout(2).with(0, Sliced{Slice::range(0, 1)}), kMesh, {1, 2});
  EXPECT_THROW(range_of(merged, 1), InternalError);
}

}  // namespace
}  // namespace coconet::interp
