// The plan and the generated C++ of every example and schedule.
#include <gtest/gtest.h>

#include "coconet/plan/from_schedule.h"
#include "coconet/plan/staging.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/source/cpp/from_plan.h"
#include "coconet_paths.h"
#include "tests/support/golden.h"

namespace coconet {
namespace {

plan::Plan plan_of(const File& file, const std::string& schedule) {
  const Graph& graph = file.program();
  if (schedule.empty()) return plan::from_schedule(graph);
  const Applied applied = apply(graph, file.schedule(graph.header().program, schedule));
  return plan::from_schedule(applied.graph, {.schedule = schedule});
}

File example(const std::string& name) {
  std::string text;
  read_file(std::string(kSourceDir) + "/examples/" + name + ".coco", &text);
  return parse_file(text, name + ".coco");  // places without this machine's folders
}

class PlanOfExample : public testing::TestWithParam<const char*> {};

TEST_P(PlanOfExample, OfEachSchedule) {
  const File file = example(GetParam());
  std::string text = plan::print(plan_of(file, ""));
  for (const Schedule& schedule : file.schedules) {
    text += "\n" + plan::print(plan_of(file, schedule.name));
  }
  expect_golden("plan/" + std::string(GetParam()) + ".txt", text);
}

TEST_P(PlanOfExample, IsTheSameEveryTime) {
  const File file = example(GetParam());
  for (const Schedule& schedule : file.schedules) {
    const plan::Plan first = plan_of(file, schedule.name), second = plan_of(file, schedule.name);
    EXPECT_EQ(plan::hash_of(first), plan::hash_of(second));
    EXPECT_EQ(source::cpp::from_plan(first), source::cpp::from_plan(second));
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, PlanOfExample,
                         testing::Values("sgd", "adam", "lamb", "clip", "lamb_list", "attention",
                                         "mlp", "attention_norm", "mlp_norm", "block", "momentum",
                                         "pipeline", "moe"),
                         [](const auto& info) { return std::string(info.param); });

plan::Plan staged_plan_of(const File& file, const std::string& schedule) {
  const Graph& graph = file.program();
  const Graph shown = apply(graph, file.schedule(graph.header().program, schedule)).graph;
  return plan::from_schedule(shown, {.schedule = schedule, .staged = plan::names_to_stage(shown)});
}

TEST(StagedPlan, OfExamples) {
  expect_golden("plan/staged.txt",
                plan::print(staged_plan_of(example("sgd"), "sharded")) + "\n" +
                    plan::print(staged_plan_of(example("attention"), "overlapped")) + "\n" +
                    plan::print(staged_plan_of(example("clip"), "sharded")));
}

TEST(GeneratedSource, OfTheStagedShardedSgd) {
  expect_golden("source/sgd_sharded_staged.txt",
                source::cpp::from_plan(staged_plan_of(example("sgd"), "sharded")));
}

TEST(GeneratedSource, OfTheShardedAdam) {
  expect_golden("source/adam_sharded.txt",
                source::cpp::from_plan(plan_of(example("adam"), "sharded")));
}

TEST(GeneratedSource, OfClippingOverAList) {
  expect_golden("source/clip_sharded.txt",
                source::cpp::from_plan(plan_of(example("clip"), "sharded")));
}

TEST(GeneratedSource, OfTheOverlappedTailWithItsNorm) {
  expect_golden("source/attention_norm_overlapped.txt",
                source::cpp::from_plan(plan_of(example("attention_norm"), "overlapped")));
}

}  // namespace
}  // namespace coconet
