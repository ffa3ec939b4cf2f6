// Tuning end to end, from C++ and by the command line: what wins is right, and is kept.
#include "coconet/tune/tune.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <functional>

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
  EXPECT_THAT(first.err, AllOf(HasSubstr("--schedule auto (tuned now): "), HasSubstr("schedule "),
                               HasSubstr(" for adam {")));
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
  const auto change = [&](const std::function<std::string(std::string)>& changed) {
    for (const std::string& name : names_in(cache.path(""))) {
      if (!name.starts_with("tuned-")) continue;
      test::write_text(cache.path(name), changed(test::read_text(cache.path(name))));
    }
    const ToolResult result = run_tool(run, cache.path(""));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("(tuned now)"));
  };
  change([](const std::string&) { return "{"; });
  change([](const std::string&) { return "{\"key\": 1}"; });
  const auto with = [&](const std::string& member, const std::string& value) {
    change([&](std::string text) {
      const std::size_t name = text.find("\"" + member + "\": ");
      EXPECT_NE(name, text.npos) << text;
      const std::size_t at = name + member.size() + 4;
      return text.replace(at, text.find_first_of(",\n", at) - at, value);
    });
  };
  with("us", "0");
  with("chunks", "[3, 4]");
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
  // Without schedules of its own.
  const std::string adam = test::read_text("examples/adam.coco");
  const std::string program = adam.substr(0, adam.find("\nschedule "));
  test::write_text(folder.path("adam.coco"), program);
  const std::string out = folder.path("found.coco");
  const ToolResult result =
      run_tool("tune " + folder.path("adam.coco") + " --ranks 2 --dim N=65536 --out " + out +
               " --report " + folder.path("page"));
  expect_verified("run " + out + " --ranks 2 --dim N=5003 --scalar t=2 --schedule tuned");
  EXPECT_THAT(
      test::read_text(folder.path("page/index.html")),
      AllOf(HasSubstr("<title>adam on dp=2 N=65536</title>"), HasSubstr("<b>the winner</b>"),
            HasSubstr("unscheduled"), HasSubstr("</html>")));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("adam on dp=2 N=65536"), HasSubstr("unscheduled"),
                                HasSubstr("times as fast as the unscheduled program")));
  const std::size_t schedule = result.out.find("schedule tuned for adam {");
  ASSERT_NE(schedule, result.out.npos);
  const std::size_t end = result.out.find("}\n", schedule);
  const std::string file = folder.path("tuned.coco");
  test::write_text(file, program + "\n" + result.out.substr(schedule, end + 2 - schedule));
  expect_verified("run " + file + " --ranks 2 --dim N=5003 --scalar t=2 --schedule tuned");
}

TEST(TuneProcess, TheUsersFileIsKeptAndNotWrittenOver) {
  const TemporaryFolder folder;
  const std::string own = folder.path("own.coco"), out = folder.path("out.coco");
  const std::string text = test::read_text("examples/momentum.coco");
  test::write_text(own, text);
  const std::string tune = "tune " + own + " --mesh dp=2,tp=1 --dim K=8,H=8 --out ";
  const ToolResult over = run_tool(tune + own);
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_THAT(over.err, HasSubstr("is a file that is read"));
  EXPECT_EQ(test::read_text(own), text);
  const ToolResult result = run_tool(tune + out);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(test::read_text(out), testing::StartsWith(text + "\n# Found by coconet tune for "));
  expect_verified("run " + out + " --mesh dp=2,tp=1 --dim K=8,H=8 --schedule tuned");
  // Its schedules are measured too.
  EXPECT_THAT(result.out, HasSubstr("split(total) reorder(2) reorder(1) fuse(rs, body, last, gp)"));
}

TEST(TuneProcess, NothingThatIsReadOrWrittenIsWrittenOver) {
  const TemporaryFolder folder;
  const std::string data = folder.path("p.npy"), out = folder.path("x.svg");
  run_tool("run examples/sgd.coco --ranks 2 --dim N=5 --out " + folder.path("data"));
  std::filesystem::copy(folder.path("data/p.npy"), data);
  const std::string text = test::read_text(data);
  const std::string tune = "tune examples/sgd.coco --ranks 2 ";
  const ToolResult over = run_tool(tune + "--in p=" + data + " --out " + data);
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_THAT(over.err, HasSubstr("p.npy is a file that is read"));
  EXPECT_EQ(test::read_text(data), text);
  const ToolResult both =
      run_tool(tune + "--sweep N=1..2 --plot " + out + " --out " + folder.path("./x.svg"));
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("are one file, and both would be written"));
}

TEST(TuneProcess, WhatIsFoundIsPrintedThoughAFileCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string place = folder.path("place");
  for (const std::string json : {"", " --json"}) {
    std::filesystem::create_directory(place);
    RunningTool tool("tune examples/sgd.coco --ranks 2 --dim N=1048576 --out " + place + "/x.coco" +
                     json);
    tool.wait_for_ranks(2);  // what is to be written has been looked at
    std::filesystem::remove_all(place);
    const ToolResult result = tool.wait();
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("predicted"));
    EXPECT_THAT(result.err, HasSubstr("x.coco"));
    if (json.empty()) continue;
    EXPECT_THAT(json_at(result.out, "error/message"), HasSubstr("x.coco"));
  }
}

TEST(TuneProcess, TheUnscheduledProgramIsADecisionToo) {
  const TemporaryFolder folder;
  const std::string file = folder.path("none.coco");
  test::write_text(file,
                   "mesh world(dp)\ndim N\nprogram none(x: f32[N]) {\n  y = x * 2\n"
                   "  return y\n}\n");
  const std::string run = "run " + file + " --ranks 2 --dim N=100 --schedule auto";
  EXPECT_THAT(run_tool(run, folder.path("cache")).err, HasSubstr("(tuned now)"));
  EXPECT_THAT(run_tool(run, folder.path("cache")).err,
              AllOf(HasSubstr("(as tuned before)"), HasSubstr("unscheduled program"),
                    Not(HasSubstr("--protocol"))));
}

TEST(TuneProcess, WhatAutoRunsIsCompiledAlready) {
  const TemporaryFolder cache;
  const std::string sizes = "examples/sgd.coco --ranks 2 --dim N=333";
  run_tool("tune " + sizes, cache.path(""));
  const ToolResult result = run_tool("run " + sizes + " --schedule auto", cache.path(""));
  EXPECT_THAT(result.out, HasSubstr("compiled in 0 ms"));
}

TEST(TuneProcess, APageOfWhatIsStaged) {
  const TemporaryFolder folder;
  const ToolResult result = run_tool(
      "tune examples/sgd.coco --ranks 2 --dim N=400000 --staged --report " + folder.path("page"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(test::read_text(folder.path("page/index.html")), HasSubstr("</html>"));
}

TEST(TuneProcess, CheckKnowsWhichKnobsAScheduleHas) {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& knobs) {
    test::write_text(folder.path("c.coco"), test::read_text("examples/sgd.coco") +
                                                "choice c for sgd {\n  else: sharded " + knobs +
                                                "\n}\n");
    return run_tool("check " + folder.path("c.coco"));
  };
  EXPECT_THAT(check("direct").out, HasSubstr("# choice c: 1 case\n"));
  const ToolResult wrong = check("chunks(3)");
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("c.coco:"), HasSubstr("overlapped groups")));
}

TEST(TuneProcess, ABadRateIsMeasuredAnew) {
  const TemporaryFolder cache;
  const std::string tune = "tune examples/sgd.coco --ranks 2 --dim N=77 --json";
  run_tool(tune, cache.path(""));
  const std::string rates = cache.path("rates-2.json"), good = test::read_text(rates);
  std::string bad = good;
  const std::size_t at = bad.find("\"wait_us\": ") + 11;
  test::write_text(rates, bad.replace(at, bad.find_first_of(",\n", at) - at, "0"));
  EXPECT_EQ(run_tool(tune, cache.path("")).exit_code, 0);
  EXPECT_EQ(test::read_text(rates).find("\"wait_us\": 0,"), std::string::npos);
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

TEST(TuneProcess, FewerThreadsAreTriedToo) {
  const ToolResult result =
      run_tool("tune examples/sgd.coco --ranks 1 --dim N=65536 --threads 2 --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"threads\": 0"), HasSubstr("\"threads\": 1")));
}

TEST(TuneProcess, ExhaustiveMeasuresAllAndTellsWhatWouldHaveBeenPicked) {
  const std::string sum = "tune tutorial/01_sum.coco --ranks 2 --dim N=4096 --exhaustive";
  const ToolResult result = run_tool(sum + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_at(result.out, "complete"), "true");
  const std::string picked = json_at(result.out, "picked");
  EXPECT_NE(json_at(result.out, "trials/" + picked + "/us"), "");
  for (int trial = 0; trial < 5; ++trial) {
    EXPECT_NE(json_at(result.out, "trials/" + std::to_string(trial) + "/us"), "null");
  }
  EXPECT_THAT(run_tool(sum).out, HasSubstr("without --exhaustive the choice is "));
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
        {"K=1..2", "K is no dim of one size, as a sweep takes; the program has N"},
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
  const TemporaryFolder folder;
  const std::string file = folder.path("hole.coco");
  test::write_text(
      file,
      "mesh world(dp)\ndim N\nrequire N <= 4 or N >= 16\nprogram hole(x: f32[N] local) "
      "{\n  y = all_reduce(x, +)\n  return y\n}\n");
  const ToolResult hole = run_tool("tune " + file + " --ranks 2 --sweep N=1..32");
  EXPECT_EQ(hole.exit_code, 1);
  EXPECT_THAT(hole.err, HasSubstr("N=8: "));
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
