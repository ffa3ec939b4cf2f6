// A decision as a file: knobs too come back.
#include "coconet/tune/decision.h"

#include <gtest/gtest.h>

#include "coconet/schedule/file.h"

namespace coconet::tune {
namespace {

TEST(Decision, ItsFileIsReadBackWithItsKnobs) {
  const Graph sgd = read_file("examples/sgd.coco").program();
  const Schedule schedule =
      parse_schedule("schedule any for sgd { rs, ag = split(total); fuse(rs) }");
  const File file = parse_file(file_of(sgd, {schedule, {{4}, false}}));
  EXPECT_EQ(file.program(), sgd);
  const Case& one = pick(*file.choice("sgd", "tuned"), {{"N", 7}});
  EXPECT_EQ(file.schedule("sgd", one.schedule).steps, schedule.steps);
  EXPECT_EQ(one.knobs, (Knobs{{4}, false}));
}

TEST(Decision, TheUnscheduledProgramMayHaveKnobs) {
  const Graph sgd = read_file("examples/sgd.coco").program();
  const File file = parse_file(file_of(sgd, {{"", "sgd", {}, {}}, {{}, true}}));
  EXPECT_TRUE(file.schedules.empty());
  const Case& one = pick(*file.choice("sgd", "tuned"), {{"N", 7}});
  EXPECT_EQ(one.schedule, "");
  EXPECT_EQ(one.knobs, (Knobs{{}, true}));
}

}  // namespace
}  // namespace coconet::tune
