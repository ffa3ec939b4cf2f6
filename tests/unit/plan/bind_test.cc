// Sizes, chunks and ticks of a plan.
#include "coconet/plan/bind.h"

#include <gtest/gtest.h>

#include <set>

#include "coconet/plan/visit.h"
#include "tests/support/planned.h"

namespace coconet::plan {
namespace {

TEST(Bind, NumbersTicksAsTheContractSays) {
  const Planned sample =
      planned(kAttention, kAttentionOverlapped, {{"B", 2}, {"S", 6}, {"H", 4}}, {2});
  const BoundPlan bound = bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {3});
  ASSERT_EQ(bound.overlaps.size(), 1u);
  const Chunking& group = bound.overlaps[0];
  EXPECT_EQ(group.launches, 2);
  EXPECT_EQ(group.greatest_lag, 1);
  EXPECT_EQ(group.rows, 2);  // of 6 rows that each of two owners has
  EXPECT_EQ(bound.knobs, std::vector<std::int64_t>{3});
  EXPECT_EQ(bound.ticks, 2 * (3 + 1));
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(bound.tick(LaunchId{0}, c), 2 * c + 1);
    EXPECT_EQ(bound.tick(LaunchId{1}, c), 2 * (c + 1) + 2);
  }
  std::int64_t last = 0;
  for (const Turn& turn : bound.turns) {
    EXPECT_GT(turn.tick, last);
    last = turn.tick;
  }
  EXPECT_EQ(bound.turns.size(), 6u);
}

TEST(Bind, ChunksOf64RowsAndAtMost8) {
  const auto chunks = [](std::int64_t rows, std::int64_t wanted = 0) {
    const Planned sample =
        planned(kAttention, kAttentionOverlapped, {{"B", 1}, {"S", rows}, {"H", 1}}, {1});
    return bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {wanted}).knobs.at(0);
  };
  EXPECT_EQ(chunks(7, 5), 5);
  EXPECT_EQ(chunks(7, 5'000'000'000), 7);  // as many as there are rows
  EXPECT_EQ(chunks(0, 3), 1);
  EXPECT_EQ(chunks(1 << 20, 5'000'000'000), 1 << 16);
  EXPECT_EQ(chunks(0), 1);
  EXPECT_EQ(chunks(64), 1);
  EXPECT_EQ(chunks(65), 2);
  EXPECT_EQ(chunks(640), 8);
}

TEST(Bind, SymmetricBuffersHoldTheLargestPiece) {
  const Planned sample = planned(kNormStep, kNormStepSharded, {{"N", 2500}}, {2});
  const BoundPlan bound = bind(sample.plan, sample.setting.sizes, sample.setting.mesh);
  const BufferId m = sample.plan.parameter("m");
  EXPECT_EQ(bound.buffers[m.index].elements, 2048);
  EXPECT_EQ(bound.buffers[m.index].bytes, 2048 * 4);
}

// The chunks of a launch part its elements, on every rank; a whole launch takes the rows of every
// owner.
TEST(Visit, ChunksPartTheElements) {
  const Planned sample =
      planned(kAttention, kAttentionOverlapped, {{"B", 3}, {"S", 5}, {"H", 2}}, {4});
  const BoundPlan bound = bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {3});
  for (const LaunchId launch : {LaunchId{0}, LaunchId{1}}) {
    const TensorType& type = chunked_type(sample.plan, launch);
    for (int rank = 0; rank < 4; ++rank) {
      const Piece piece = bound.piece(type, rank);
      std::set<std::int64_t> seen;
      for (int chunk = 0; chunk < 3; ++chunk) {
        for (std::int64_t held : held_in_turn(bound, piece, {launch, chunk, 0})) {
          EXPECT_TRUE(seen.insert(held).second);
        }
      }
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), piece.count());
    }
  }
  // 15 rows, slices of 4: chunk 0 is the first two rows of each slice.
  const Piece whole = bound.piece(chunked_type(sample.plan, LaunchId{0}), 0);
  std::set<std::int64_t> rows;
  for (std::int64_t held : held_in_turn(bound, whole, {LaunchId{0}, 0, 0})) rows.insert(held / 2);
  EXPECT_EQ(rows, (std::set<std::int64_t>{0, 1, 4, 5, 8, 9, 12, 13}));
}

// Of slices (*) a chunk is of blocks, here of 5 in slices of 3 and 2.
TEST(Visit, ChunksOfFlatSlicesAreOfBlocks) {
  const Planned sample = planned(
      kSum, "rs, ag = split(total, (*)) ar = fuse(rs, ag) overlap(y, ar)", {{"N", 5000}}, {2});
  ASSERT_EQ(sample.plan.overlaps.size(), 1u);
  EXPECT_TRUE(sample.plan.notes.empty());
  const BoundPlan bound = bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {2});
  const Piece whole = bound.piece(chunked_type(sample.plan, LaunchId{0}), 0);
  std::set<std::int64_t> blocks;
  for (std::int64_t held : held_in_turn(bound, whole, {LaunchId{0}, 0, 0})) {
    blocks.insert(held / kBlock);
  }
  EXPECT_EQ(blocks, (std::set<std::int64_t>{0, 1, 3, 4}));
  const Piece second = bound.piece(chunked_type(sample.plan, LaunchId{1}), 1);
  EXPECT_EQ(held_in_turn(bound, second, {LaunchId{1}, 0, 0}).size(), 5000u - 3 * kBlock);
  EXPECT_EQ(held_in_turn(bound, second, {LaunchId{1}, 1, 0}).size(), 0u);
}

TEST(Visit, AnElementStandsWherePieceSaysItIs) {
  const MeshSizes mesh{{2, 2}};
  Layout layout(2);
  layout = layout.with(1, Sliced{Slice::dim(1)}).with(0, Sliced{Slice::all()});  // nested
  const Piece piece({64, 70}, layout, mesh, {1, 1});
  ASSERT_GT(piece.count(), 0);
  for (std::int64_t held = 0; held < piece.count(); ++held) {
    EXPECT_EQ(held_at(piece, coordinates_of(piece.sizes(), piece.global(held))), held);
  }
  EXPECT_EQ(held_at(piece, {0, 0}), -1);
}

}  // namespace
}  // namespace coconet::plan
