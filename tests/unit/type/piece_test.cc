#include "coconet/type/piece.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/graph_fixture.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words
using Sizes64 = std::vector<std::int64_t>;

std::vector<std::int64_t> held(const Piece& piece) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < piece.count(); ++i) out.push_back(piece.global(i));
  return out;
}

// Every element of the tensor is held by exactly one rank of the sliced axes, in ascending order on
// each, and by no rank more than largest_piece says.
void expect_a_partition(const Sizes64& sizes, const Layout& layout, const MeshSizes& mesh) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  std::vector<int> times(count, 0);
  std::int64_t largest = 0;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const Piece piece(sizes, layout, mesh, mesh.coordinates(rank));
    EXPECT_EQ(piece.global_count(), count);
    const std::vector<std::int64_t> elements = held(piece);
    EXPECT_TRUE(std::is_sorted(elements.begin(), elements.end()));
    for (std::int64_t element : elements) ++times.at(element);
    const bool run = elements.empty() || elements.back() - elements.front() + 1 ==
                                             static_cast<std::int64_t>(elements.size());
    EXPECT_EQ(piece.contiguous(), run);
    largest = std::max(largest, piece.count());
  }
  EXPECT_EQ(largest_piece(sizes, layout, mesh), largest);
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), count);
}

TEST(Cut, GivesTheFirstPartsMore) {
  EXPECT_EQ(cut(10, 4, 0).count, 3);
  EXPECT_EQ(cut(10, 4, 3).count, 1);
  EXPECT_EQ(cut(5, 4, 2).begin, 4);
  EXPECT_EQ(cut(5, 4, 2).count, 1);
  EXPECT_EQ(cut(5, 4, 3).count, 0);
  EXPECT_EQ(cut(0, 3, 2).count, 0);
}

TEST(Cut, FallsOnMultiplesOfTheGrain) {
  EXPECT_EQ(cut(2500, 2, 0, 1024).count, 2048);
  EXPECT_EQ(cut(2500, 2, 1, 1024).begin, 2048);
  EXPECT_EQ(cut(2500, 2, 1, 1024).count, 452);
  EXPECT_EQ(cut(1000, 2, 1, 1024).count, 0);
}

TEST(Piece, OfAReplicatedTensorIsAllOfIt) {
  const Piece piece({2, 3}, Layout(1), {{4}}, {2});
  EXPECT_EQ(held(piece), (Sizes64{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(piece.contiguous());
}

TEST(Piece, OfColumns) {
  const Layout columns = Layout(1).with(0, sliced(1));
  EXPECT_EQ(held(Piece({2, 3}, columns, {{2}}, {0})), (Sizes64{0, 1, 3, 4}));
  EXPECT_EQ(held(Piece({2, 3}, columns, {{2}}, {1})), (Sizes64{2, 5}));
  EXPECT_FALSE(Piece({2, 3}, columns, {{2}}, {0}).contiguous());
}

TEST(Piece, OfARangeTakesItsDimsAsOneIndex) {
  const Layout rows = Layout(1).with(0, sliced(0, 1));
  EXPECT_EQ(held(Piece({2, 3, 2}, rows, {{4}}, {1})), (Sizes64{4, 5, 6, 7}));
  EXPECT_EQ(held(Piece({2, 3, 2}, rows, {{4}}, {3})), Sizes64{});
}

TEST(Piece, OfScalarsAndRootedTensors) {
  EXPECT_EQ(held(Piece({}, Layout(1), {{4}}, {2})), Sizes64{0});
  const Layout root = Layout(1).with(0, rooted(1));
  EXPECT_EQ(Piece({5}, root, {{2}}, {0}).count(), 0);
  EXPECT_EQ(Piece({5}, root, {{2}}, {1}).count(), 5);
  EXPECT_EQ(largest_piece({5}, root, {{2}}), 5);
  EXPECT_EQ(Piece({5}, Layout(1).with(0, partial()), {{2}}, {1}).count(), 5);
  EXPECT_EQ(Piece({5}, Layout(1).with(0, local()), {{2}}, {1}).count(), 5);
}

TEST(Piece, NestedColumnsThenFlatCutsWhatTheColumnsLeft) {
  const Layout layout = Layout(2).with(1, sliced(1)).with(0, sliced_flat());
  // Columns 0..1 of 4 on tp 0: 1200 rows of 2, so 2400 elements, cut at 2048 by dp.
  const Piece first({1200, 4}, layout, {{2, 2}}, {0, 0});
  EXPECT_EQ(first.count(), 2048);
  EXPECT_EQ(first.global(2), 4);
  const Piece second({1200, 4}, layout, {{2, 2}}, {1, 1});
  EXPECT_EQ(second.count(), 352);
  EXPECT_EQ(second.global(0), 1024 * 4 + 2);
}

TEST(Piece, EveryElementIsHeldOnce) {
  const Layout whole(2);
  const std::vector<Layout> layouts = {
      whole.with(0, sliced(0)).with(1, sliced(0)),
      whole.with(1, sliced(0)).with(0, sliced(0)),
      whole.with(0, sliced(0)).with(1, sliced(0, 1)),
      whole.with(0, sliced(0)).with(1, sliced(2)),
      whole.with(1, sliced(1)).with(0, sliced_flat()),
      whole.with(1, sliced(1, 2)).with(0, sliced_flat()),
      whole.with(1, sliced(0, 1)).with(0, sliced(0, 2)),
      whole.with(0, sliced_flat()).with(1, sliced_flat()),
  };
  const std::vector<Sizes64> shapes = {{1, 1, 1},  {0, 3, 2},   {2, 0, 5},  {3, 5, 7},
                                       {7, 2, 11}, {13, 17, 9}, {4, 33, 64}};
  for (const Layout& layout : layouts) {
    for (const Sizes64& sizes : shapes) {
      for (const MeshSizes& mesh : {MeshSizes{{1, 1}}, MeshSizes{{2, 3}}, MeshSizes{{4, 2}}}) {
        SCOPED_TRACE(layout.text(Mesh{"world", {"dp", "tp"}}));
        expect_a_partition(sizes, layout, mesh);
      }
    }
  }
}

}  // namespace
}  // namespace coconet
