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

TEST(ExampleSchedules, Attention) { expect_all_schedules("attention", kTails); }
TEST(ExampleSchedules, Mlp) { expect_all_schedules("mlp", kTails); }
TEST(ExampleSchedules, AttentionNorm) { expect_all_schedules("attention_norm", kTails); }
TEST(ExampleSchedules, MlpNorm) { expect_all_schedules("mlp_norm", kTails); }
TEST(ExampleSchedules, Sgd) { expect_all_schedules("sgd", kVectors); }
TEST(ExampleSchedules, Adam) { expect_all_schedules("adam", kVectors); }
TEST(ExampleSchedules, Lamb) { expect_all_schedules("lamb", kVectors); }

}  // namespace
}  // namespace coconet
