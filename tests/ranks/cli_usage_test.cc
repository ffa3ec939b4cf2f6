// What `coconet` says to arguments and files that are wrong, and with which exit code.
#include <gmock/gmock.h>

#include "coconet/io/npy.h"
#include "coconet/io/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kAttention = "run examples/attention.coco --ranks 2 --dim B=2,S=4,H=8 ";

void expect_error(const std::string& words, int code, std::initializer_list<const char*> texts) {
  const ToolResult result = run_tool(words);
  EXPECT_EQ(result.exit_code, code) << words << "\n" << result.err;
  EXPECT_EQ(result.out, "") << words;
  EXPECT_THAT(result.err, AllOf(HasSubstr("error: "), Not(HasSubstr("fault of coconet")))) << words;
  for (const char* text : texts) EXPECT_THAT(result.err, HasSubstr(text)) << words;
}

TEST(CliUsage, WhatIsNoCommandOrOption) {
  expect_error("", 2, {"a command is needed", "check, show, run, explain"});
  expect_error("rum", 2, {"no command rum", "did you mean `run`?"});
  expect_error(kAttention + "--schedul fused", 2, {"--schedul", "did you mean `--schedule`?"});
  expect_error(kAttention + "-x 3", 2, {"no option -x of run"});
  expect_error(kAttention + "more", 2, {"found 'more' after the file; run takes one file"});
  expect_error("run", 2, {"a .coco file is needed, as coconet run FILE"});
  expect_error("check", 2,
               {"a .coco file is needed, as coconet check FILE (coconet check --help)"});
}

TEST(CliUsage, ValuesOfOptions) {
  const std::string run = "run examples/attention.coco ";
  expect_error(run + "--ranks", 2, {"--ranks needs a value after it"});
  expect_error(run + "--ranks abc", 2, {"--ranks: must be a whole number; found 'abc'"});
  expect_error(run + "--ranks --one-process", 2, {"must be a whole number; found '--one-process'"});
  expect_error(run + "--ranks 2 --ranks 3", 2, {"--ranks is given 2 times; it takes one value"});
  expect_error(run + "--ranks 9223372036854775808", 2, {"a whole number of 63 bits; found '92"});
  expect_error(kAttention + "--verify=no", 2, {"--verify takes no value; give it, or leave it"});
  expect_error(kAttention + "--one-process=false", 2, {"--one-process takes no value"});
  expect_error(kAttention + "--verify --verify", 2, {"--verify is given 2 times; once is enough"});
  expect_error("check examples/attention.coco --plan=off", 2, {"--plan takes no value"});
  expect_error(kAttention + "--repeat x", 2, {"--repeat: must be a whole number; found 'x'"});
  expect_error(kAttention + "--chunks 2,x", 2, {"--chunks: must be a whole number; found 'x'"});
  expect_error(kAttention + "--timeout x", 2, {"--timeout: must be a number; found 'x'"});
  for (const char* seed : {"-1", "x", "18446744073709551616", "1.5"}) {
    expect_error(kAttention + "--seed " + seed, 2, {"--seed: must be a whole number from 0", seed});
  }
  EXPECT_EQ(run_tool(kAttention + "--seed 18446744073709551615").exit_code, 0);
  expect_error(kAttention + "--schedule=", 2, {"--schedule"});
  expect_error(kAttention + "--out=", 2, {"--out"});
  expect_error(run + "--out= --ranks 2 --dim B=2,S=4,H=8", 2, {"--out= is empty; leave it out"});
  expect_error(kAttention + "--out --verify", 2, {"--out: needed is a value", "'--verify'"});
  expect_error("show examples/attention.coco --as foo", 2,
               {"--as: needed is graph, plan, cpp or dot; found 'foo'"});
  expect_error("explain examples/attention.coco --schedule fused --after x", 2,
               {"--after: must be a whole number; found 'x'"});
}

TEST(CliUsage, NamesThatDoNotExist) {
  expect_error("check examples/nothing.coco", 1, {"examples/nothing.coco"});
  expect_error("check examples", 1, {"examples"});
  expect_error("check examples/attention.coco --program mlp", 2, {"`mlp`", "attention"});
  expect_error(kAttention + "--schedule overlaped", 2, {"did you mean `overlapped`?", "fused"});
  expect_error("show examples/attention.coco --schedule auto", 2,
               {"--schedule auto is of run", "tune prints what it finds"});
  expect_error(kAttention + "--dim Q=3", 2, {"no dim Q", "B, S, H"});
  expect_error(kAttention + "--dtype U=f32", 2, {"no dtype parameter U", "has T"});
  expect_error(kAttention + "--dtype T=f33", 2, {"'f33' is no dtype", "bf16"});
  expect_error(kAttention + "--scalar rat=1", 2, {"no input rat", "did you mean `rate`?"});
  expect_error(kAttention + "--in y=x.npy", 2, {"no input y", "x, w, b, r, rate"});
  expect_error(kAttention + "--want ut=examples/data/attention.safetensors:w", 2,
               {"--want ut", "did you mean `out`?"});
  expect_error("run examples/attention.coco --mesh dp=2", 2, {"no axis dp", "world(tp)"});
}

TEST(CliUsage, WhichProgramOfAFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path("two.coco");
  test::write_text(file,
                   "mesh w(tp)\ndim N\nprogram p(x: f32[N]) { return x }\n"
                   "program q(x: f32[N]) { return x }\n");
  expect_error("show " + file, 2, {"has 2 programs", "--program NAME", "p, q"});
  test::write_text(file, "mesh w(tp)\n");
  expect_error("show " + file, 2, {"two.coco has no program"});
}

// Words are parted by spaces, so a step here has none.
TEST(CliUsage, StepsToExplain) {
  const std::string explain = "explain examples/attention.coco ";
  expect_error(explain + "--step fuse(total", 2,
               {"--step `fuse(total`: found the end of the step where `)` is needed"});
  expect_error(explain + "--step=", 2, {"--step= is empty; leave it out"});
  expect_error(explain + "--after 1", 2, {"--after counts the steps of a --schedule"});
  expect_error(explain + "--schedule overlapped --after 9", 2, {"--after 9", "steps 0 to 4"});
  expect_error(explain + "--schedule overlapped --after -1", 2, {"--after -1", "steps 0 to 4"});
  const ToolResult result = run_tool(explain + "--step rs,ag=split(total);ar=fuse(rs,ag)");
  EXPECT_THAT(result.out, HasSubstr("ar = fuse(rs, ag): legal"));
  EXPECT_THAT(run_tool(explain + "--step rs,ag=split(total)#a").out, HasSubstr("): legal"));
}

TEST(CliUsage, ChunksAreOfOverlappedGroups) {
  expect_error(kAttention + "--chunks 3", 2,
               {"numbers of chunks found: 1", "groups of this schedule: none"});
  expect_error(kAttention + "--schedule overlapped --chunks 3,4", 2,
               {"numbers of chunks found: 2", "groups of this schedule: pipeline; give"});
  EXPECT_EQ(run_tool(kAttention + "--schedule overlapped --chunks 3 --verify").exit_code, 0);
}

TEST(CliUsage, FilesWithoutAProgram) {
  const TemporaryFolder folder;
  const std::string file = folder.path("it.coco");
  test::write_text(file, "mesh world(tp)\n");
  for (const char* command : {"check ", "show ", "explain ", "run "}) {
    expect_error(command + file, 2, {"it.coco has no program; needed is one"});
  }
}

TEST(CliUsage, FoldersThatCannotBeMade) {
  expect_error(kAttention + "--out /proc/x", 1, {"--out /proc/x: the folder cannot be made"});
  expect_error(kAttention + "--out README.md", 1, {"--out README.md"});
}

TEST(CliUsage, NumbersOutOfTheirRange) {
  const std::string file = "run examples/attention.coco ";
  expect_error(file + "--dim B=1,S=1,H=1", 2, {"--ranks"});
  expect_error(file + "--ranks 0", 2, {"--ranks must be from 1 to 256; found 0"});
  expect_error(file + "--ranks -1", 2, {"found -1"});
  expect_error(file + "--ranks 257", 2, {"found 257"});
  expect_error(file + "--mesh tp=4294967297", 2, {"found 4294967297"});
  expect_error(file + "--ranks 2 --mesh tp=2", 2, {"not both"});
  expect_error(file + "--ranks 2 --dim B=1,S=1", 1, {"dim H has no size", "--dim H=SIZE"});
  expect_error(file + "--ranks 2 --dim S=1", 1,
               {"dims B, H have no sizes; give --dim B=SIZE,H=SIZE"});
  expect_error(file + "--ranks 2 --dim B=1,B=2", 2, {"--dim gives B twice"});
  expect_error(file + "--ranks 2 --dim B=-1", 2, {"--dim B must not be negative; found -1"});
  expect_error(file + "--ranks 2 --dim B=1.5", 2, {"--dim B must be a whole number"});
  expect_error(file + "--ranks 2 --dim B", 2, {"--dim takes NAME=VALUE; found 'B'"});
  expect_error(file + "--ranks 2 --dim B=3,H=6,S", 2, {"--dim takes NAME=VALUE; found 'S'"});
  expect_error(file + "--ranks 2 --dim B=3,H=6 --dim S", 2, {"--dim takes NAME=VALUE; found 'S'"});
  expect_error(file + "--ranks 2 --dim B=3 --dim 7", 2, {"--dim takes NAME=VALUE; found '7'"});
  expect_error("run examples/pipeline.coco --mesh pp=256,tp=256", 2, {"found 65536"});
  expect_error(kAttention + "--repeat 0", 2, {"--repeat must be from 1 to 2147483647; found 0"});
  expect_error(kAttention + "--repeat 5000000000", 2, {"--repeat must be from 1"});
  expect_error(kAttention + "--timeout 0", 2, {"--timeout"});
  expect_error(kAttention + "--timeout nan", 2, {"--timeout"});
  expect_error(kAttention + "--bound 1", 2, {"--bound belongs to a --want"});
  const std::string want = "--want out=examples/data/optimizer.safetensors:w.p ";
  expect_error(kAttention + want + "--bound 1,2,3", 2, {"--bound takes ABS or ABS,REL"});
}

TEST(CliUsage, Scalars) {
  const std::string adam = "run examples/adam.coco --ranks 2 --dim N=5 ";
  expect_error(adam, 1, {"scalar t has no value and no default", "--scalar t=VALUE"});
  expect_error(adam + "--scalar t=1.5", 2, {"--scalar t", "whole number"});
  expect_error(adam + "--scalar t=3000000000", 2, {"--scalar t", "range"});
  expect_error(adam + "--scalar t=1,lr=1e400", 2,
               {"--scalar lr must be a number that a double holds; found '1e400'"});
  expect_error(adam + "--scalar t=1,t=2", 2, {"gives t twice"});
  expect_error(adam + "--scalar t=1,lr=x", 2, {"--scalar lr must be a number; found 'x'"});
  expect_error(adam + "--scalar t=1,p=1", 2, {"p is f32[N], not a scalar", "--in"});
  expect_error(adam + "--scalar t=1 --in lr=0.5", 2, {"--scalar lr=NUMBER"});
}

// A number that its dtype cannot hold is not silently another one.
TEST(CliUsage, ScalarsFitTheirDType) {
  const TemporaryFolder folder;
  const std::string file = folder.path("s.coco");
  test::write_text(
      file, "mesh w(tp)\ndim N\nprogram p(x: f16[N], scalar a: f16) { y = x * a return y }\n");
  const std::string run = "run " + file + " --ranks 1 --dim N=3 --scalar a=";
  expect_error(run + "70000", 2,
               {"--scalar a: f16 takes smaller values: the largest is 65504; found 70000"});
  expect_error(run + "1e-9", 2, {"--scalar a: f16 takes larger values", "rounds to 0"});
  EXPECT_EQ(run_tool(run + "inf").exit_code, 0);
}

TEST(CliUsage, AnOutputAndAStateOfOneNameAreNotOneFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path("old.coco");
  test::write_text(
      file, "mesh w(tp)\ndim N\nprogram p(state m: f32[N]) { m2 = update(m, m + 1) return m }\n");
  const std::string run = "run " + file + " --ranks 1 --dim N=3";
  expect_error(run + " --out " + folder.path("out"), 2, {"--out would write both the output m"});
  write_npy(folder.path("m.npy"), TensorData::zeros(DTypeKind::f32, {3}));
  expect_error(run + " --want m=" + folder.path("m.npy"), 2,
               {"--want m may be the output or the updated storage of that name", "`old = m`"});
  EXPECT_EQ(run_tool(run).exit_code, 0);
}

TEST(CliUsage, TensorFiles) {
  const TemporaryFolder folder;
  const auto file = [&](const char* name, DTypeKind kind, std::vector<std::int64_t> shape) {
    write_npy(folder.path(name), TensorData::zeros(kind, std::move(shape)));
    return folder.path(name);
  };
  const std::string x = file("x.npy", DTypeKind::f16, {2, 4, 8});
  const std::string whole = test::read_text(x);
  test::write_text(folder.path("cut.npy"), whole.substr(0, whole.size() - 5));
  test::write_text(folder.path("empty.npy"), "");
  const std::string wide = file("wide.npy", DTypeKind::f16, {2, 4, 9});
  const std::string flat = file("flat.npy", DTypeKind::f16, {2, 32});
  expect_error(kAttention + "--in x=none.npy", 1, {"error: --in x: none.npy: cannot be opened"});
  expect_error(kAttention + "--in x=x.npz", 2,
               {"error: --in x: \"x.npz\": it ends neither in .npy"});
  expect_error(kAttention + "--in none.safetensors", 1, {"error: --in: none.safetensors: cannot"});
  expect_error(kAttention + "--want out=none.npy", 1, {"error: --want out: none.npy: cannot be"});
  expect_error(kAttention + "--in x=" + folder.path("cut.npy"), 1, {"cut.npy", "truncated"});
  expect_error(kAttention + "--in x=" + folder.path("empty.npy"), 1, {"empty.npy"});
  expect_error(kAttention + "--in x=" + wide, 1,
               {"input x: dim 2, H, must be 8; found 9; it is from ", "wide.npy"});
  expect_error(
      kAttention + "--in x=" + flat, 1,
      {"input x has shape [2, 32]; needed is [B,S,H], here [2, 4, 8]; it is from ", "flat.npy"});
  expect_error(kAttention + "--dtype T=f32 --in x=" + x, 1,
               {"input x has dtype f16; needed is f32 (T, by --dtype; in C++, by the graph)"});
  expect_error(kAttention + "--in " + x, 2, {"say of which input"});
  expect_error(kAttention + "--in x=" + x + " --in x=" + x, 2, {"--in gives x twice"});
  // The bits of an integer or of an f64 are no f32.
  expect_error(kAttention + "--in rate=" + file("i.npy", DTypeKind::i32, {}), 1,
               {"input rate has dtype i32; needed is f32"});
  expect_error(kAttention + "--in rate=" + file("d.npy", DTypeKind::f64, {}), 1,
               {"input rate has dtype f64; needed is f32"});
  expect_error(kAttention + "--in rate=" + file("one.npy", DTypeKind::f32, {1}), 1,
               {"input rate has shape [1]; needed is []"});
  expect_error(kAttention + "--want out=" + wide, 1, {"has shape [2, 4, 9]; out has [2, 4, 8]"});
}

TEST(CliUsage, WholeFiles) {
  const TemporaryFolder folder;
  const TensorData b = TensorData::zeros(DTypeKind::f16, {8});
  const std::string one = folder.path("one.safetensors"), two = folder.path("two.safetensors"),
                    other = folder.path("other.safetensors");
  write_safetensors(one, {{"b", b}, {"more", b}});
  write_safetensors(two, {{"b", b}});
  write_safetensors(other, {{"weight", b}});
  EXPECT_EQ(run_tool(kAttention + "--in " + one).exit_code, 0);
  EXPECT_EQ(run_tool(kAttention + "--in " + one + " --in b=" + two).exit_code, 0);
  expect_error(kAttention + "--in " + one + " --in " + two, 2, {"b stands in", "--in b=FILE"});
  expect_error(kAttention + "--in " + other, 1,
               {"no input of the program", "weight", "x, w, b, r"});
}

TEST(CliUsage, JsonIsOneObjectOnFailureToo) {
  for (const std::string& words :
       {kAttention + "--schedule no", kAttention + "--bogus", kAttention + "--in x=no.npy",
        kAttention + "--scalar rate=7", std::string("run examples/none.coco --ranks 2")}) {
    const ToolResult result = run_tool(words + " --json");
    ASSERT_THAT(json_keys(result.out), ElementsAre("error", "errors")) << words;
    EXPECT_THAT(json_keys(result.out, "error"),
                ElementsAre("kind", "message", "where", "exit_code"));
    EXPECT_EQ(json_at(result.out, "error/exit_code"), std::to_string(result.exit_code));
    EXPECT_THAT(result.err, HasSubstr(json_at(result.out, "error/message")));
  }
}

TEST(CliUsage, JsonSurvivesBytesThatAreNoText) {
  const ToolResult result = run_tool("run \xff\xfe.coco --ranks 2 --json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(json_keys(result.out), ElementsAre("error", "errors"));
}

TEST(CliUsage, JsonHasEveryError) {
  const TemporaryFolder folder;
  const std::string file = folder.path("three.coco");
  test::write_text(file,
                   "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n"
                   "  a = q\n  b = x + \n  return x, c }\n");
  const ToolResult result = run_tool("run " + file + " --ranks 1 --json");
  EXPECT_EQ(result.exit_code, 1);
  for (int i = 0; i < 3; ++i) {
    const std::string at = "errors/" + std::to_string(i);
    EXPECT_THAT(json_keys(result.out, at), ElementsAre("kind", "message", "where", "exit_code"));
    EXPECT_THAT(result.err, HasSubstr(json_at(result.out, at + "/where") +
                                      ": error: " + json_at(result.out, at + "/message")));
  }
  EXPECT_EQ(json_at(result.out, "errors/3"), "");
  EXPECT_EQ(json_at(result.out, "errors/0"), json_at(result.out, "error"));
  EXPECT_EQ(json_at(result.out, "errors/1/kind"), "syntax");
}

// A name of a file may be as long as the file.
TEST(CliUsage, LongNamesAreShortened) {
  const TemporaryFolder folder;
  const std::string file = folder.path("long.coco"), name(1 << 20, 'a');
  test::write_text(file, "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y = " + name +
                             " * x\n  return " + name + " }\n");
  const ToolResult result = run_tool("run " + file + " --ranks 1 --json");
  EXPECT_THAT(result.err, HasSubstr("`" + name.substr(0, 40) + "...` is not a value"));
  EXPECT_LT(result.err.size() + result.out.size(), 2000u);
}

}  // namespace
}  // namespace coconet::tests
