// The geometry of kernels against the definition of who holds what (type/piece.h).
#include "coconet/kernel/cpu/space.h"

#include <gtest/gtest.h>

#include <set>

#include "coconet/kernel/cpu/chunks.h"
#include "coconet/kernel/cpu/tile.h"
#include "coconet/type/piece.h"

namespace coconet {
namespace {

using kernel::Space;

// The space of a type's piece, as generated code makes it.
Space space_of(const std::vector<std::int64_t>& sizes, const Layout& layout, const MeshSizes& mesh,
               const std::vector<int>& coordinates) {
  Space space = kernel::whole_space(sizes.data(), static_cast<int>(sizes.size()));
  for (int axis : layout.slice_order()) {
    const Slice& slice = layout.slice(axis);
    const int first = slice.flat ? 0 : slice.first;
    const int last = slice.flat ? space.dims - 1 : slice.last;
    kernel::cut_space(space, first, last, slice.flat ? kBlock : 1, mesh.sizes[axis],
                      coordinates[axis]);
  }
  return space;
}

// Visits every element, and expects it at its place in the piece.
void expect_visits_piece(const std::vector<std::int64_t>& sizes, const Layout& layout,
                         const MeshSizes& mesh, std::int64_t width) {
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const auto coordinates = mesh.coordinates(rank);
    const Piece piece(sizes, layout, mesh, coordinates);
    const Space space = space_of(sizes, layout, mesh, coordinates);
    ASSERT_EQ(space.count(), piece.count());
    std::int64_t seen = 0;
    kernel::for_each_run(space, width, [&](const kernel::Run& run) {
      ASSERT_GT(run.count, 0);
      if (width > 0) {
        EXPECT_EQ(run.global / width, (run.global + run.count - 1) / width);
      }
      const std::int64_t at = kernel::index_in(space, run.coordinates, space.dims);
      for (std::int64_t i = 0; i < run.count; ++i) {
        ASSERT_EQ(piece.global(at + i), run.global + i);
        ++seen;
      }
    });
    EXPECT_EQ(seen, piece.count());
  }
}

Layout cut_by(const Slice& slice) { return Layout(1).with(0, Sliced{slice}); }

TEST(Space, VisitsEachElementOfThePieceOnce) {
  const std::vector<std::vector<std::int64_t>> shapes = {{4, 3, 5}, {1, 7, 2}, {5, 1, 1},
                                                         {0, 3, 2}, {3, 0, 4}, {3, 700, 2}};
  for (const auto& shape : shapes) {
    for (int ranks : {1, 2, 3, 5, 8}) {
      for (const Slice& slice : {Slice::dim(0), Slice::dim(1), Slice::dim(2), Slice::range(0, 1),
                                 Slice::range(1, 2), Slice::range(0, 2), Slice::all()}) {
        for (std::int64_t width : {std::int64_t{0}, shape[2], std::int64_t{1024}}) {
          expect_visits_piece(shape, cut_by(slice), MeshSizes{{ranks}}, width);
        }
      }
    }
  }
}

TEST(Space, TwoAxesMayCutOneDimOrDifferentOnes) {
  const MeshSizes mesh{{2, 3}};
  const Layout same = Layout(2).with(0, Sliced{Slice::dim(0)}).with(1, Sliced{Slice::dim(0)});
  const Layout other = Layout(2).with(0, Sliced{Slice::dim(2)}).with(1, Sliced{Slice::dim(0)});
  for (const auto& layout : {same, other}) {
    for (std::int64_t width : {0, 4}) expect_visits_piece({7, 3, 4}, layout, mesh, width);
  }
}

// Each axis cuts what the ones before left: a later range holds several dims, some cut already.
TEST(Space, ALaterAxisMayCutMoreDims) {
  const auto nested = [](std::vector<Slice> slices) {
    Layout layout(static_cast<int>(slices.size()));
    for (int axis = 0; axis < layout.axes(); ++axis) {
      layout = layout.with(axis, Sliced{slices[axis]});
    }
    return layout;
  };
  const Slice rows = Slice::range(0, 1), all = Slice::all();
  const std::vector<Layout> layouts = {nested({Slice::dim(0), rows}),
                                       nested({Slice::dim(1), rows}),
                                       nested({Slice::dim(1), all}),
                                       nested({Slice::dim(2), all}),
                                       nested({rows, all}),
                                       nested({rows, rows}),
                                       nested({all, all})};
  for (const std::vector<int>& sizes : {std::vector<int>{2, 3}, {3, 2}, {1, 4}, {4, 1}, {5, 2}}) {
    for (const Layout& layout : layouts) {
      for (std::int64_t width : {0, 4, 1024}) {
        expect_visits_piece({7, 3, 4}, layout, {sizes}, width);
        expect_visits_piece({5, 2, 800}, layout, {sizes}, width);
        expect_visits_piece({0, 3, 2}, layout, {sizes}, width);
      }
    }
  }
  const Layout deep = nested({Slice::dim(1), rows, all});
  for (std::int64_t width : {0, 700}) expect_visits_piece({4, 5, 700}, deep, {{2, 2, 3}}, width);
}

TEST(Space, ABroadcastOperandStaysWhereItsDimIsOne) {
  const std::int64_t sizes[] = {2, 3, 4};
  const std::int64_t column[] = {4}, row[] = {2, 3, 1};
  const Space bias = kernel::whole_space(column, 1), rows = kernel::whole_space(row, 3);
  kernel::for_each_run(kernel::whole_space(sizes, 3), 4, [&](const kernel::Run& run) {
    EXPECT_EQ(kernel::index_in(bias, run.coordinates, 3), 0);
    EXPECT_EQ(kernel::index_in(rows, run.coordinates, 3), run.global / 4);
  });
}

TEST(Space, RowsWithoutColumnsAreVisitedEmpty) {
  const std::int64_t sizes[] = {2, 3, 0};
  int rows = 0;
  kernel::for_each_row(kernel::whole_space(sizes, 3),
                       [&](const kernel::Run& run, std::int64_t, std::int64_t count) {
                         EXPECT_EQ(count, 0);
                         EXPECT_EQ(run.coordinates[0] * 3 + run.coordinates[1], rows++);
                       });
  EXPECT_EQ(rows, 6);
}

// Of any range of flat indices, each rank of an axis finds just its elements, in their order.
TEST(Space, TellsWhatOfARangeItHolds) {
  const std::int64_t sizes[] = {3, 5, 4};
  for (int ranks : {1, 2, 3, 8}) {
    for (int kind = 0; kind < 6; ++kind) {
      for (int rank = 0; rank < ranks; ++rank) {
        kernel::Space space = kernel::whole_space(sizes, 3);
        if (kind < 3) kernel::cut_space(space, kind, kind, 1, ranks, rank);
        if (kind == 3) kernel::cut_space(space, 0, 1, 1, ranks, rank);
        if (kind == 4) {
          kernel::cut_space(space, 0, 0, 1, 2, 0);
          kernel::cut_space(space, 2, 2, 1, ranks, rank);
        }
        if (kind == 5) {
          kernel::cut_space(space, 1, 1, 1, 2, 1);
          kernel::cut_space(space, 0, 1, 1, ranks, rank);
        }
        std::vector<std::int64_t> elements;
        kernel::for_each_run(space, 1,
                             [&](const kernel::Run& run) { elements.push_back(run.global); });
        for (std::int64_t begin = 0; begin < 60; begin += 7) {
          for (std::int64_t count : {1, 9, 60}) {
            count = std::min(count, 60 - begin);
            std::vector<std::int64_t> found;
            kernel::for_each_held(
                space, begin, count,
                [&](std::int64_t index, std::int64_t offset, std::int64_t length) {
                  for (std::int64_t i = 0; i < length; ++i) {
                    ASSERT_EQ(elements.at(index + i), begin + offset + i);
                    found.push_back(begin + offset + i);
                  }
                });
            std::vector<std::int64_t> wanted;
            for (std::int64_t element : elements) {
              if (begin <= element && element < begin + count) wanted.push_back(element);
            }
            EXPECT_EQ(found, wanted) << kind << " " << rank << " of " << ranks;
          }
        }
      }
    }
  }
}

TEST(Chunks, CoverEveryOwnersSliceOnce) {
  for (std::int64_t rows : {0, 1, 7, 64, 131}) {
    for (int owners : {1, 2, 3, 8}) {
      for (int wanted : {0, 1, 3, 8}) {
        const kernel::Chunks chunks(rows, owners, wanted);
        std::multiset<std::int64_t> seen;
        for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
          chunks.of_all(chunk, [&](std::int64_t begin, std::int64_t count) {
            for (std::int64_t row = begin; row < begin + count; ++row) seen.insert(row);
            return 0;
          });
        }
        ASSERT_EQ(static_cast<std::int64_t>(seen.size()), rows);
        std::int64_t next = 0;
        for (std::int64_t row : seen) EXPECT_EQ(row, next++);
      }
    }
  }
}

}  // namespace
}  // namespace coconet
