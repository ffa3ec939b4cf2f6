// Every example's plans on the plan executor, under several schedulers: the interpreter's bits.
#include <gtest/gtest.h>

#include "coconet/schedule/file.h"
#include "coconet/simulate/executor.h"
#include "tests/support/planned.h"

namespace coconet::simulate {
namespace {

struct Example {
  const char* name;
  std::vector<int> mesh;
  Sizes sizes;
};

Sizes members() {
  Sizes sizes;
  sizes.lists["N_i"] = {5, 1027, 0, 1};
  return sizes;
}

const Sizes kTail = {{"B", 2}, {"S", 3}, {"H", 8}};
const Example kExamples[] = {
    {"sgd", {3}, {{"N", 2500}}},
    {"adam", {3}, {{"N", 2500}}},
    {"lamb", {3}, {{"N", 2500}}},
    {"clip", {3}, members()},
    {"lamb_list", {3}, members()},
    {"attention", {3}, kTail},
    {"mlp", {2}, kTail},
    {"attention_norm", {4}, {{"B", 2}, {"S", 1}, {"H", 6}}},
    {"mlp_norm", {3}, kTail},
    {"block", {2}, {{"S", 5}, {"B", 2}, {"H", 6}, {"F", 7}, {"nh", 4}, {"hd", 3}}},
    {"momentum", {3, 2}, {{"K", 70}, {"H", 45}}},
    {"pipeline", {3, 2}, kTail},
    {"moe", {3}, {{"E", 4}, {"C", 7}, {"H", 3}, {"F", 5}}},
};

class ExampleOnExecutor : public testing::TestWithParam<Example> {};

TEST_P(ExampleOnExecutor, UnderEverySchedule) {
  const Example& example = GetParam();
  const File file = read_file(std::string("examples/") + example.name + ".coco");
  std::vector<Schedule> schedules = {{"unscheduled", file.program().header().program, {}, {}}};
  schedules.insert(schedules.end(), file.schedules.begin(), file.schedules.end());
  for (const Schedule& schedule : schedules) {
    const Planned sample = planned(file.program(), schedule, example.sizes, example.mesh);
    const interp::Result want = sample.meaning();
    for (const std::int64_t chunks : {1, 3}) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const ExecutorOptions options{
            policy_of(seed), seed, std::vector<std::int64_t>(sample.plan.overlaps.size(), chunks)};
        const interp::Result got = execute(sample.plan, sample.setting, sample.inputs, options);
        EXPECT_TRUE(same_results(sample.graph, got, want))
            << schedule.name << ", " << chunks << " chunks, seed " << seed;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExampleOnExecutor, testing::ValuesIn(kExamples),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace coconet::simulate
