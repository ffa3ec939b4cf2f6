// Temporaries that have memory for a few chunks: which, of how many, what is waited for, where
// their elements stand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coconet/execute/memory_need.h"
#include "coconet/kernel/cpu/chunks.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/plan/places.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet_paths.h"
#include "tests/support/files.h"
#include "tests/support/planned.h"

namespace coconet::plan {
namespace {

using testing::HasSubstr;

Plan of_example(const std::string& name, const std::string& schedule) {
  const std::string text = test::read_text(std::string(kSourceDir) + "/examples/" + name + ".coco");
  const File file = parse_file(text, name);
  return from_schedule(
      apply(file.program(), file.schedule(file.program().header().program, schedule)).graph);
}

Planned tail(const Sizes& sizes, int ranks, const std::string& steps = kAttentionOverlapped) {
  return planned(kAttention, steps, sizes, {ranks});
}

BufferId buffer_named(const Plan& plan, const std::string& name) {
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    if (plan.buffers[b].name == name) return {b};
  }
  throw InternalError("no buffer " + name);
}

std::map<std::string, int> rings(const Plan& plan) {
  std::map<std::string, int> out;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.ring > 0) out[buffer.name] = buffer.ring;
  }
  return out;
}

TEST(Rings, PartialSumsAreWrittenOverWhenPeersHaveFoldedThem) {
  const Plan plan = tail({{"B", 1}, {"S", 4}, {"H", 2}}, 2).plan;
  EXPECT_EQ(rings(plan), (std::map<std::string, int>{{"layer", 3}}));
  const Wait behind{LaunchId{1}, {0}, true, 3};
  EXPECT_EQ(plan.launches[0].waits, std::vector<Wait>{behind});
  EXPECT_TRUE(plan.launches[1].signals);
  EXPECT_THAT(print(plan), HasSubstr("temporary symmetric slot 5, a ring of 3 chunks\n"));
  EXPECT_THAT(print(plan), HasSubstr("waits for the chunk 3 before of 1@tp\n"));
}

// A chain of products: what this rank alone reads, in the same beat, needs one chunk; `mid` is read
// when the second sum has come.
TEST(Rings, AreAsLongAsTheLastReaderLags) {
  const Plan plan = of_example("block", "overlapped");
  EXPECT_EQ(rings(plan),
            (std::map<std::string, int>{
                {"proj", 3}, {"mid", 3}, {"seq2", 3}, {"inner", 1}, {"act", 1}, {"layer", 3}}));
}

TEST(Rings, WhatIsReadOutsideTheGroupIsWhole) {
  EXPECT_TRUE(rings(tail({{"B", 1}, {"S", 4}, {"H", 2}}, 2, "").plan).empty());
  const char* const program = R"(
mesh world(tp)
dim M, K
program p(x: f32[M,K] sliced(1), w: f32[K,K] sliced(0)) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  size = norm(total)
  return total, size
}
)";
  const std::string steps = "rs, ag = split(total, (0)) ar = fuse(rs, ag) overlap(layer, ar)";
  EXPECT_EQ(rings(planned(program, steps, {{"M", 4}, {"K", 2}}, {2}).plan),
            (std::map<std::string, int>{{"layer", 3}}));
  // Of every value kept, all are results.
  const Planned sample = planned(program, steps, {{"M", 4}, {"K", 2}}, {2});
  EXPECT_TRUE(rings(from_schedule(sample.graph, {.schedule = "", .keep_values = true})).empty());
}

TEST(Rings, TakeMemoryForTheirChunksAlone) {
  const Planned sample = tail({{"B", 1}, {"S", 1000}, {"H", 8}}, 2);
  const BufferId layer = buffer_named(sample.plan, "layer");
  const auto bytes = [&](std::int64_t chunks) {
    const BoundPlan bound = bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {chunks});
    const auto slots = execute::slots_of(bound);
    EXPECT_EQ(slots.at(sample.plan.buffer(layer).slot).bytes, bound.buffers[layer.index].bytes);
    return bound.buffers[layer.index].bytes;
  };
  const std::int64_t row = 8 * size_of(sample.plan.buffer(layer).type.dtype.kind);
  EXPECT_EQ(bytes(1), 1000 * row);
  EXPECT_EQ(bytes(3), 1000 * row);
  EXPECT_EQ(bytes(5), 3 * 2 * 100 * row);
  EXPECT_EQ(bytes(500), 3 * 2 * row);
}

// Of the rows of all owners and of a slice: the kernels' geometry is that of the plan, and chunks
// as many apart as the ring is long do not meet.
TEST(Rings, StandWhereGeneratedCodeLooks) {
  int reached = 0;
  for (const std::int64_t rows : {0, 1, 2, 7, 12, 31}) {
    for (int ranks : {1, 2, 3, 4}) {
      for (const std::int64_t wanted : {1, 2, 3, 5, 31}) {
        const Planned sample = tail({{"B", 1}, {"S", rows}, {"H", 3}}, ranks);
        const BoundPlan bound =
            bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {wanted});
        const BufferId layer = buffer_named(sample.plan, "layer");
        const Places places(bound, layer);
        const kernel::Chunks chunks(rows, ranks, bound.knobs[0]);
        reached += bound.buffers[layer.index].ring > 0 ? 1 : 0;
        for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
          chunks.of_all(chunk, [&](std::int64_t begin, std::int64_t count) {
            const kernel::ChunkTurn turn{chunks, chunks.owner_of(begin), chunk};
            for (std::int64_t row = begin; row < begin + count; ++row) {
              const std::int64_t at = row + turn.to_ring(3);
              EXPECT_EQ(places.at(0, row * 3 + 1), at * 3 + 1);
              EXPECT_LT(at * 3 + 2, places.memory());
            }
            return 0;
          });
        }
      }
    }
  }
  EXPECT_GT(reached, 12);
}

TEST(Rings, OfASliceStandWhereGeneratedCodeLooks) {
  const Plan plan = of_example("block", "overlapped");
  const Sizes sizes = {{"S", 23}, {"B", 2}, {"H", 3}, {"F", 3}, {"nh", 6}, {"hd", 1}};
  for (int ranks : {1, 2, 3}) {
    const BoundPlan bound = bind(plan, sizes, {{ranks}}, {7});
    const BufferId mid = buffer_named(plan, "mid");
    ASSERT_EQ(bound.buffers[mid.index].ring, 3);
    const Places places(bound, mid);
    const kernel::Chunks chunks(23, ranks, bound.knobs[0]);
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
        const kernel::Cut rows = chunks.of_slice(rank, chunk);
        const kernel::ChunkTurn turn{chunks, rank, chunk};
        for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
          EXPECT_EQ(places.at(rank, row * 6), (row + turn.to_ring_of_slice(3)) * 6);
        }
      }
    }
  }
}

}  // namespace
}  // namespace coconet::plan
