// A decision as a file: knobs too come back.
#include "coconet/tune/decision.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "coconet/schedule/file.h"
#include "coconet/tune/found_text.h"
#include "tests/support/files.h"

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
  const File file = with_found(found_of(sgd, {schedule, {{4}, false, 3}}));
  EXPECT_EQ(file.program(), sgd);
  const Case& one = pick(*file.choice("sgd", "tuned"), {{"N", 7}});
  EXPECT_EQ(file.schedule("sgd", one.schedule).steps, schedule.steps);
  EXPECT_EQ(one.knobs, (Knobs{{4}, false, 3}));
}

// What was measured while something else ran does not replace what was measured in quiet.
TEST(Decision, ANoisyOneDoesNotReplaceAQuietOne) {
  const test::TemporaryFolder cache;
  setenv("COCONET_CACHE", cache.path("").c_str(), 1);
  const Graph sgd = read_file("examples/sgd.coco").program();
  const interp::Setting setting{.sizes = {{"N", 7}}, .mesh = {{2}}};
  const auto keeps = [&](double us, double spread) {
    Tuning tuning;
    tuning.trials.resize(1);
    tuning.trials[0].schedule.program = "sgd";
    tuning.trials[0].measured_us = us;
    tuning.trials[0].spread = spread;
    const Decision kept = keep(sgd, setting, {}, tuning);
    EXPECT_EQ(kept.us, us);
    return kept.kept;
  };
  EXPECT_TRUE(keeps(10, 0.9));
  EXPECT_TRUE(keeps(11, 0.8));
  EXPECT_TRUE(keeps(12, 0.1));
  EXPECT_FALSE(keeps(13, 0.5));
  EXPECT_EQ(decide(sgd, {}, setting, {}).us, 12);
  EXPECT_TRUE(keeps(14, 0.2));
  EXPECT_EQ(decide(sgd, {}, setting, {}).us, 14);
  unsetenv("COCONET_CACHE");
}

// One that somebody has edited: what is not allowed, or of another program, is tuned anew.
TEST(Decision, WhatIsNotAllowedIsNotTaken) {
  const test::TemporaryFolder cache;
  setenv("COCONET_CACHE", cache.path("").c_str(), 1);
  const File file = parse_file(
      "mesh world(dp)\ndim N, M\nprogram norms(x: f32[N,M] local) {\n  t = all_reduce(x, +)\n"
      "  n = norm(t)\n  return t, n\n}\n");
  const Graph& graph = file.program();
  const interp::Setting setting{.sizes = {{"N", 7}, {"M", 3}}, .mesh = {{2}}};
  Tuning tuning;
  tuning.trials.resize(1);
  Trial& trial = tuning.trials[0];
  trial.measured_us = 10;
  trial.schedule = parse_schedule(
      "schedule tuned for norms { rs, ag = split(t, (0..1)); body = reorder(ag, [n]) }");
  ASSERT_EQ(apply(graph, trial.schedule).exactness, Exactness::reassociates);
  const auto is_taken = [&](const TuneOptions& options) {
    keep(graph, setting, options, tuning);
    return decide(graph, {}, setting, options).from_store;
  };
  TuneOptions allowed;
  allowed.search.allow_reassociation = true;
  EXPECT_TRUE(is_taken(allowed));
  EXPECT_FALSE(is_taken({}));
  trial.schedule = parse_schedule("schedule tuned for norms { rs, ag = split(t) }");
  EXPECT_TRUE(is_taken({}));
  trial.schedule.program = "other";
  EXPECT_FALSE(is_taken({}));
  unsetenv("COCONET_CACHE");
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
