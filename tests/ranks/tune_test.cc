// Tuning end to end, from C++ and by the command line: what wins is right, and is kept.
#include "coconet/tune/tune.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "coconet/tune/decision.h"
#include "tests/support/files.h"
#include "tests/support/planned.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kAdam = "examples/adam.coco --ranks 2 --dim N=65536";

TEST(TuneProcess, TheUnscheduledProgramIsMeasuredAndTheWinnerIsNoSlower) {
  const Planned step = planned(kNormStep, "", {{"N", 1 << 16}}, {2});
  const tune::Tuning tuning =
      tune::tune(step.graph, {}, step.setting,
                 {.search = {.time = std::chrono::minutes(1)}, .most_measured = 4});
  const tune::Trial& winner = tuning.trials.at(tuning.winner);
  const tune::Trial& plain = tuning.trials.at(tuning.unscheduled);
  EXPECT_TRUE(plain.schedule.steps.empty());
  ASSERT_TRUE(plain.measured_us && winner.measured_us);
  EXPECT_LE(*winner.measured_us, 1.02 * *plain.measured_us);
  EXPECT_EQ(winner.refused, "");
  EXPECT_EQ(winner.exactness, Exactness::exact);
  EXPECT_GE(tuning.trials.size(), 4u);
  EXPECT_GE(tuning.graphs, tuning.trials.size());
  // One kernel in place of eleven launches: no noise makes that the slower one.
  EXPECT_FALSE(winner.schedule.steps.empty());
  EXPECT_NO_THROW(apply(step.graph, winner.schedule));
}

TEST(TuneProcess, ADecisionIsKeptAndFoundAgain) {
  const TemporaryFolder cache;
  const std::string run = "run " + kAdam + " --scalar t=1 --schedule auto --verify";
  const ToolResult first = run_tool(run, cache.path(""));
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("--schedule auto (tuned now): "),
                               HasSubstr("schedule tuned for adam {")));
  EXPECT_THAT(first.out, HasSubstr("bit-equal to unscheduled: yes"));
  const ToolResult again = run_tool(run, cache.path(""));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("--schedule auto (as tuned before): "));
  // What tune has found, run finds: with as many threads, those that have a core.
  run_tool("tune examples/sgd.coco --ranks 2 --dim N=999", cache.path(""));
  EXPECT_THAT(
      run_tool("run examples/sgd.coco --ranks 2 --dim N=999 --schedule auto", cache.path("")).err,
      HasSubstr("(as tuned before)"));
  // Other sizes are another decision.
  const ToolResult other = run_tool(
      "run examples/adam.coco --ranks 2 --dim N=3000 --scalar t=1 --schedule auto", cache.path(""));
  EXPECT_THAT(other.err, HasSubstr("(tuned now)"));
}

TEST(TuneProcess, ADamagedDecisionIsMadeAgain) {
  const TemporaryFolder cache;
  const std::string run = "run " + kAdam + " --scalar t=1 --schedule auto";
  run_tool(run, cache.path(""));
  for (const std::string& damage : {std::string("{"), std::string("{\"key\": 1}")}) {
    for (const std::string& name : names_in(cache.path(""))) {
      if (name.starts_with("tuned-")) test::write_text(cache.path(name), damage);
    }
    const ToolResult result = run_tool(run, cache.path(""));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("(tuned now)")) << damage;
  }
  // A schedule that does not apply, as of another version.
  for (const std::string& name : names_in(cache.path(""))) {
    if (!name.starts_with("tuned-")) continue;
    std::string text = test::read_text(cache.path(name));
    const std::size_t split = text.find("split(total)");
    ASSERT_NE(split, text.npos);
    test::write_text(cache.path(name), text.replace(split, 12, "split(other)"));
  }
  EXPECT_THAT(run_tool(run, cache.path("")).err, HasSubstr("(tuned now)"));
}

TEST(TuneProcess, TheTableAndTheScheduleAreToBeTakenBack) {
  const TemporaryFolder folder;
  const std::string out = folder.path("found.coco");
  const ToolResult result =
      run_tool("tune " + kAdam + " --out " + out + " --report " + folder.path("page"));
  expect_verified("run " + out + " --ranks 2 --dim N=5003 --scalar t=2 --schedule tuned");
  EXPECT_THAT(test::read_text(folder.path("page/index.html")),
              AllOf(HasSubstr("<title>adam on dp=2 N=65536</title>"), HasSubstr("one kernel"),
                    HasSubstr("unscheduled"), HasSubstr("</html>")));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("adam on dp=2 N=65536"), HasSubstr("unscheduled"),
                                HasSubstr("times as fast as the unscheduled program")));
  const std::size_t schedule = result.out.find("schedule tuned for adam {");
  ASSERT_NE(schedule, result.out.npos);
  const std::size_t end = result.out.find("}\n", schedule);
  const std::string file = folder.path("tuned.coco");
  test::write_text(file, test::read_text("examples/adam.coco") + "\n" +
                             result.out.substr(schedule, end + 2 - schedule));
  expect_verified("run " + file + " --ranks 2 --dim N=5003 --scalar t=2 --schedule tuned");
}

TEST(TuneProcess, JsonHasEveryTrial) {
  const ToolResult result = run_tool("tune " + kAdam + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_at(result.out, "program"), "adam");
  const std::string winner = json_at(result.out, "winner");
  EXPECT_NE(json_at(result.out, "trials/" + winner + "/us"), "");
  EXPECT_EQ(json_at(result.out, "trials/" + winner + "/refused"), "");
  const std::string plain = json_at(result.out, "unscheduled");
  EXPECT_EQ(json_at(result.out, "trials/" + plain + "/schedule"), "unscheduled");
}

TEST(TuneProcess, ARankThatIsKilledEndsIt) {
  run_tool("tune examples/sgd.coco --ranks 3 --dim N=10");  // so that rates are known
  RunningTool tool("tune examples/sgd.coco --ranks 3 --dim N=20000000");
  const std::vector<pid_t> ranks = tool.wait_for_ranks(3);
  const auto start = std::chrono::steady_clock::now();
  kill(ranks[1], SIGKILL);
  const ToolResult result = tool.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("rank 1 was killed by"));
  EXPECT_TRUE(all_end(ranks));
}

TEST(TuneProcess, AScheduleOfTheFileCalledAutoGoesFirst) {
  const TemporaryFolder folder;
  const std::string file = folder.path("own.coco");
  test::write_text(file, std::string("mesh world(dp)\ndim N\nprogram p(x: f32[N] local) {\n"
                                     "  y = all_reduce(x, +)\n  return y\n}\n"
                                     "schedule auto for p {\n  rs, ag = split(y)\n}\n"));
  const ToolResult result = run_tool("run " + file + " --ranks 2 --dim N=100 --schedule auto");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("tuned")));
}

TEST(TuneProcess, ASweepIsAFileThatRunTakes) {
  const TemporaryFolder folder;
  const std::string file = folder.path("swept.coco"), plot = folder.path("swept.svg");
  const ToolResult result = run_tool("tune examples/sgd.coco --ranks 2 --sweep N=2^6..2^18 --out " +
                                     file + " --plot " + plot);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("sgd over N"), HasSubstr("choice tuned for sgd {"),
                                HasSubstr("else: ")));
  EXPECT_THAT(test::read_text(plot), AllOf(HasSubstr("<svg"), HasSubstr("</svg>")));
  for (const std::string n : {"1", "64", "5003", "262144", "1000003"}) {
    expect_verified("run " + file + " --ranks 2 --schedule tuned --dim N=" + n);
  }
  EXPECT_EQ(run_tool("check " + file).exit_code, 0);
}

TEST(TuneProcess, SweepsThatAreNoneAreRefused) {
  const std::string tune = "tune examples/sgd.coco --ranks 2 --sweep ";
  for (const auto& [sweep, why] :
       {std::pair<std::string, std::string>{"N", "--sweep takes DIM=FIRST..LAST"},
        {"N=2^4", "--sweep takes DIM=FIRST..LAST"},
        {"K=1..2", "K is no dim that has one size; the program has N"},
        {"N=8..4", "from 8 to 4"},
        {"N=0..4", "from 0 to 4"},
        {"N=3^4..2^5", "'3^4' is no size"},
        {"N=2^63..2^64", "is no size"},
        {"N=1..4 --threads 4294967297", "--threads must be from 1 to"},
        {"N=1..4 --dim N=4", "--sweep and --dim both give sizes of N"}}) {
    const ToolResult result = run_tool(tune + sweep);
    EXPECT_EQ(result.exit_code, 2) << sweep;
    EXPECT_THAT(result.err, HasSubstr(why));
  }
  const ToolResult plot = run_tool("tune examples/sgd.coco --ranks 2 --dim N=4 --plot x.svg");
  EXPECT_EQ(plot.exit_code, 2);
  EXPECT_THAT(plot.err, HasSubstr("--plot is of a --sweep"));
}

TEST(TuneProcess, AProtocolIsOneOfThree) {
  const std::string run = "run examples/adam.coco --ranks 2 --dim N=100 --scalar t=1 --protocol ";
  EXPECT_EQ(run_tool(run + "one-shot --verify").exit_code, 0);
  EXPECT_EQ(run_tool(run + "direct --verify").exit_code, 0);
  const ToolResult result = run_tool(run + "quick");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("must be one-shot, direct or auto; found 'quick'"));
}

}  // namespace
}  // namespace coconet::tests
