// The examples' schedules: each step gives the bits of the program, on any rank count and size.
#include <gtest/gtest.h>

#include "coconet/schedule/file.h"
#include "tests/support/meaning.h"

namespace coconet {
namespace {

void expect_all_schedules(const std::string& name, const std::vector<Sizes>& sizes) {
  const File file = read_file("examples/" + name + ".coco");
  ASSERT_FALSE(file.schedules.empty());
  for (const Schedule& schedule : file.schedules) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (const Sizes& each : sizes) {
        SCOPED_TRACE(name + " on " + std::to_string(ranks) + " ranks");
        expect_schedule_keeps_meaning(file.program(schedule.program), schedule, each, {ranks});
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

const std::vector<Sizes> kTails = {
    {{"B", 2}, {"S", 3}, {"H", 5}}, {{"B", 1}, {"S", 1}, {"H", 1}}, {{"B", 3}, {"S", 0}, {"H", 4}}};
const std::vector<Sizes> kVectors = {{{"N", 0}}, {{"N", 1}}, {{"N", 1025}}, {{"N", 5003}}};

Sizes members(std::vector<std::int64_t> sizes) {
  Sizes out;
  out.lists["N_i"] = std::move(sizes);
  return out;
}
const std::vector<Sizes> kLists = {members({}), members({0}), members({5, 1027, 0, 1, 4096}),
                                   members({1024, 1024, 3})};

TEST(ExampleSchedules, Attention) { expect_all_schedules("attention", kTails); }
TEST(ExampleSchedules, Mlp) { expect_all_schedules("mlp", kTails); }
TEST(ExampleSchedules, AttentionNorm) { expect_all_schedules("attention_norm", kTails); }
TEST(ExampleSchedules, MlpNorm) { expect_all_schedules("mlp_norm", kTails); }
TEST(ExampleSchedules, Sgd) { expect_all_schedules("sgd", kVectors); }
TEST(ExampleSchedules, Adam) { expect_all_schedules("adam", kVectors); }
TEST(ExampleSchedules, Lamb) { expect_all_schedules("lamb", kVectors); }
TEST(ExampleSchedules, Clip) { expect_all_schedules("clip", kLists); }
TEST(ExampleSchedules, LambList) { expect_all_schedules("lamb_list", kLists); }

TEST(ExampleSchedules, Moe) {
  expect_all_schedules("moe", {{{"E", 4}, {"C", 7}, {"H", 3}, {"F", 5}},
                               {{"E", 3}, {"C", 1}, {"H", 1}, {"F", 2}},
                               {{"E", 8}, {"C", 0}, {"H", 2}, {"F", 2}}});
}

TEST(ExampleSchedules, Pipeline) {
  const File file = read_file("examples/pipeline.coco");
  ASSERT_EQ(file.schedules.size(), 4u);
  for (const Schedule& schedule : file.schedules) {
    for (const std::vector<int>& mesh : {std::vector<int>{2, 2}, {3, 2}, {1, 3}, {4, 1}, {2, 4}}) {
      for (const Sizes& sizes : kTails) {
        expect_schedule_keeps_meaning(file.program(schedule.program), schedule, sizes, mesh);
      }
    }
  }
}

// As examples/momentum.coco, but that the schedule makes the momentum 1/N of each rank's columns.
const char* const kDataByTensor = R"(
mesh world(dp, tp)
dim K, H
program sgd(g: f16[K,H] local@dp sliced(1)@tp, p: f32[K,H] sliced(1)@tp,
            state m: f32[K,H] sliced(1)@tp, scalar lr: f32 = 0.1) {
  total = all_reduce(cast(g, f32), +)@dp
  avg = total / size(dp)
  m2 = update(m, 0.9 * m + avg)
  p2 = update(p, p - lr * m2)
  return p2
}
schedule sharded for sgd {
  rs, ag = split(total)
  body, gm, gp = reorder(ag, [avg, m2, p2])
  as_slice(m) dead(gm)
  fuse(rs, body, gp)
}
)";

TEST(ExampleSchedules, DataByTensorParallelWithShardedMomentum) {
  for (const File& file : {parse_file(kDataByTensor), read_file("examples/momentum.coco")}) {
    for (const Schedule& schedule : file.schedules) {
      for (const std::vector<int>& mesh : {std::vector<int>{2, 2}, {3, 2}, {1, 3}, {4, 1}}) {
        for (const Sizes& sizes : {Sizes{{"K", 70}, {"H", 45}}, {{"K", 3}, {"H", 1}}}) {
          expect_schedule_keeps_meaning(file.program(schedule.program), schedule, sizes, mesh);
        }
      }
    }
  }
}

TEST(ExampleSchedules, Block) {
  const File file = read_file("examples/block.coco");
  ASSERT_EQ(file.schedules.size(), 2u);
  for (const Schedule& schedule : file.schedules) {
    for (const int ranks : {1, 2, 4}) {
      for (const int rows : {0, 1, 6}) {
        expect_schedule_keeps_meaning(
            file.program(), schedule,
            {{"S", rows}, {"B", 2}, {"H", 5}, {"F", 7}, {"nh", 4}, {"hd", 3}}, {ranks});
      }
    }
  }
}

// More ranks than the first dim has rows: slices are of B and S together.
TEST(ExampleSchedules, TwoSentencesOnFourRanks) {
  const File file = read_file("examples/attention_norm.coco");
  for (const Schedule& schedule : file.schedules) {
    expect_schedule_keeps_meaning(file.program(schedule.program), schedule,
                                  {{"B", 2}, {"S", 5}, {"H", 6}}, {4});
  }
}

}  // namespace
}  // namespace coconet
