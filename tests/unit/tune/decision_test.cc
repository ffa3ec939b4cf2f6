// A decision as a file: knobs too come back.
#include "coconet/tune/decision.h"

#include <gtest/gtest.h>

#include "coconet/schedule/file.h"
#include "coconet/tune/found_text.h"

namespace coconet::tune {
namespace {

// The example's file with it behind.
File with_found(const Found& found) {
  std::string text;
  const File file = read_file("examples/sgd.coco", &text);
  return parse_file(text + "\n" + text_of(for_file(found, file), "Found so."));
}

TEST(Decision, ItsFileIsReadBackWithItsKnobs) {
  const Graph sgd = read_file("examples/sgd.coco").program();
  const Schedule schedule =
      parse_schedule("schedule any for sgd { rs, ag = split(total); fuse(rs) }");
  const File file = with_found(found_of(sgd, {schedule, {{4}, false}}));
  EXPECT_EQ(file.program(), sgd);
  const Case& one = pick(*file.choice("sgd", "tuned"), {{"N", 7}});
  EXPECT_EQ(file.schedule("sgd", one.schedule).steps, schedule.steps);
  EXPECT_EQ(one.knobs, (Knobs{{4}, false}));
}

TEST(Decision, TheUnscheduledProgramMayHaveKnobs) {
  const Graph sgd = read_file("examples/sgd.coco").program();
  const std::size_t before = read_file("examples/sgd.coco").schedules.size();
  const File file = with_found(found_of(sgd, {{"", "sgd", {}, {}}, {{}, true}}));
  EXPECT_EQ(file.schedules.size(), before);
  const Case& one = pick(*file.choice("sgd", "tuned"), {{"N", 7}});
  EXPECT_EQ(one.schedule, "");
  EXPECT_EQ(one.knobs, (Knobs{{}, true}));
}

TEST(Decision, WhatTheFileHasIsNotWrittenAgain) {
  const File sgd = read_file("examples/sgd.coco");
  const Found found = for_file(found_of(sgd.program(), {sgd.schedule("sgd", "sharded"), {}}), sgd);
  EXPECT_TRUE(found.schedules.empty());
  EXPECT_EQ(found.choice.cases[0].schedule, "sharded");
}

TEST(Decision, NamesThatTheFileHasAreLeftToIt) {
  const File sgd = read_file("examples/sgd.coco");
  Schedule found = sgd.schedule("sgd", "sharded");
  found.steps.pop_back();  // another schedule of that name
  File file = with_found(found_of(sgd.program(), {found, {}}));
  EXPECT_EQ(file.choice("sgd", "tuned")->cases[0].schedule, "sharded_2");
  EXPECT_EQ(file.schedule("sgd", "sharded_2").steps, found.steps);
  const Found again = for_file(found_of(sgd.program(), {found, {}}), file);
  EXPECT_EQ(again.choice.name, "tuned_2");
}

}  // namespace
}  // namespace coconet::tune
