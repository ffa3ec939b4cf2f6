#include "coconet/schedule/step.h"

#include <gtest/gtest.h>

#include "coconet/schedule/file.h"

namespace coconet {
namespace {

Step step(std::string verb, std::vector<StepArgument> arguments,
          std::vector<std::string> results = {}) {
  return {std::move(verb), std::move(arguments), std::move(results), {}};
}

TEST(StepText, EveryKindOfArgument) {
  EXPECT_EQ(text_of(step("overlap", {"layer", "ar"})), "overlap(layer, ar)");
  EXPECT_EQ(text_of(step("split", {"total", Slice::range(0, 1)}, {"rs", "ag"})),
            "rs, ag = split(total, (0..1))");
  EXPECT_EQ(text_of(step("split", {"total", Slice::all()})), "split(total, (*))");
  EXPECT_EQ(text_of(step("split", {"total", Slice::dim(2)})), "split(total, (2))");
  EXPECT_EQ(text_of(step("reorder", {"ag", std::vector<std::string>{"drop", "out'"}}, {"body"})),
            "body = reorder(ag, [drop, out'])");
  EXPECT_EQ(text_of(step("nothing", {})), "nothing()");
}

TEST(StepText, ParsesBack) {
  Schedule schedule;
  schedule.name = "overlapped";
  schedule.program = "attention";
  schedule.steps = {
      step("split", {"total", Slice::all()}, {"rs", "ag"}),
      step("split", {"total", Slice::dim(0), "rs_ag"}, {"a", "b'"}),
      step("reorder", {std::vector<std::string>{"a", "b"}, std::vector<std::string>{"drop"}}),
      step("nothing", {}), step("overlap", {"layer", "ar", "x", "y"}, {"p"})};
  const Schedule parsed = parse_schedule(text_of(schedule));
  EXPECT_TRUE(parsed == schedule) << text_of(parsed);
}

TEST(StepText, AScheduleMayHoldNothing) {
  const Schedule schedule = parse_schedule("schedule none for p { }");
  EXPECT_TRUE(schedule.steps.empty());
  EXPECT_EQ(text_of(schedule), "schedule none for p {\n}\n");
}

TEST(StepText, StepsHaveTheirPlaces) {
  const Schedule schedule =
      parse_schedule("schedule s for p {\n  rs, ag = split(total);  dead(ag)\n}", "f.coco");
  ASSERT_EQ(schedule.steps.size(), 2u);
  EXPECT_EQ(schedule.steps[0].where.text(), "f.coco:2:3");
  EXPECT_EQ(schedule.steps[0].where.length, 21);
  EXPECT_EQ(schedule.steps[1].where.text(), "f.coco:2:27");
}

}  // namespace
}  // namespace coconet
