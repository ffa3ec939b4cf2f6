// `coconet check`, `show` and `explain`.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ToolResult run_on(const std::string& command, const std::string& program,
                  const std::string& options = "") {
  const TemporaryFolder folder;
  test::write_text(folder.path("it.coco"), program);
  return run_tool(command + " " + folder.path("it.coco") + " " + options);
}

TEST(CliCheck, ABiasBeforeTheReduceIsRefusedWithBothRewrites) {
  const ToolResult result = run_on("check", R"(mesh world(tp)
dim S, H
program tail(x: f16[S,H] sliced(1), w: f16[H,H] sliced(0), b: f16[H]) {
  layer = matmul(x, w)
  total = all_reduce(layer + b, +)
  return total
}
)");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("it.coco:5:22: error: f16[S,H] partial(+) + f16[H]"),
                    HasSubstr("all_reduce(a, +) + b"), HasSubstr("a + as_partial(b, +)"),
                    HasSubstr("|                      ^~~~~~~~~")));
}

TEST(CliCheck, EveryErrorOfAFileIsReported) {
  const ToolResult result = run_on("check", R"(mesh world(tp)
dim N
program a(x: f32[N] partial(+)) {
  y = sqrt(x)
  z = all_reduce(x, max)
  w = nme + 1
  return y, z
}
schedule s for b { rs, ag = split(z) }
)");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("it.coco:4:7: error: sqrt"),
                                HasSubstr("it.coco:5:7: error: all_reduce"),
                                HasSubstr("it.coco:6:7: error: `nme`"),
                                HasSubstr("it.coco:9:16: error: `b` is not a program")));
}

TEST(CliCheck, EveryScheduleThatDoesNotApplyIsReported) {
  const ToolResult result = run_on("check", R"(mesh world(tp)
dim N
program a(x: f32[N] partial(+)) {
  y = all_reduce(x, +)
  z = y * 2
  return z
}
schedule one for a { rs, ag = split(y); body, g = reorder(ag, [w]) }
schedule fine for a { rs, ag = split(y) }
schedule two for a { fuse(y, u) }
)");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("it.coco:8:"), HasSubstr("it.coco:10:"),
                                Not(HasSubstr("it.coco:9:"))));
  EXPECT_THAT(result.out, AllOf(HasSubstr("z = y * 2"), HasSubstr("# schedule one: does not apply"),
                                HasSubstr("# schedule fine: 1 step, ")));
}

TEST(CliCheck, PlansAreVerifiedOnSizesThatTheProgramAllowsOrSaidNotToBe) {
  const ToolResult fitting = run_on("check", R"(mesh world(tp)
dim N, H, W, OH, OW, M, L
program a(x: f32[N,2,H,W] sliced(0), w: f32[1,2,3,2], y: f32[M]) {
  u = conv2d(x, w, stride=2, padding=1, size=[OH,OW])
  v = narrow(y, 0, L, 2)
  return u, v
}
)",
                                    "--plan");
  EXPECT_EQ(fitting.exit_code, 0) << fitting.err;
  EXPECT_THAT(fitting.out, HasSubstr("# verified on 3 meshes"));
  const ToolResult none = run_on("check", R"(mesh world(tp)
dim N
require N > 1000000
program a(x: f32[N] partial(+)) {
  y = all_reduce(x, +)
  return y
}
)",
                                 "--plan");
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_THAT(none.out, AllOf(HasSubstr("# NOT verified: the program allows none of"),
                              Not(HasSubstr("# verified"))));
}

TEST(CliCheck, PrintsTypesAndPlans) {
  const ToolResult types = run_tool("check examples/attention.coco");
  EXPECT_EQ(types.exit_code, 0) << types.err;
  EXPECT_THAT(types.out, AllOf(HasSubstr("layer = matmul(x, w)  # T[B,S,H] partial(+)"),
                               HasSubstr("# schedule overlapped: "), HasSubstr("exact"),
                               Not(HasSubstr("launch"))));
  const ToolResult plans = run_tool("check examples/attention.coco --plan --dtype T=f32");
  EXPECT_EQ(plans.exit_code, 0) << plans.err;
  EXPECT_THAT(plans.out, AllOf(HasSubstr("plan of attention, unscheduled on world(tp)"),
                               HasSubstr("plan of attention, schedule overlapped"),
                               HasSubstr("launch 1 total")));
}

TEST(CliShow, EveryForm) {
  const std::string adam = "show examples/adam.coco --schedule sharded --as ";
  EXPECT_THAT(run_tool(adam + "graph").out, HasSubstr("fused fusion"));
  EXPECT_THAT(run_tool(adam + "plan").out, HasSubstr("launch 0"));
  EXPECT_THAT(run_tool(adam + "cpp").out,
              AllOf(HasSubstr("Status launch_0("), Not(HasSubstr("Status launch_1("))));
  EXPECT_THAT(run_tool(adam + "dot").out, HasSubstr("digraph"));
}

TEST(CliExplain, LegalStepsAndWhyOneIsNot) {
  const std::string file = "explain examples/attention.coco ";
  const ToolResult legal = run_tool(file);
  EXPECT_EQ(legal.exit_code, 0);
  EXPECT_THAT(legal.out, AllOf(HasSubstr("rs, ag = split(total): legal; exact"),
                               HasSubstr("overlap(layer, total): legal"),
                               HasSubstr("`layer` cannot be fused: `layer` is a matmul"),
                               HasSubstr("`drop`, `out` cannot be moved: no all_gather")));
  const ToolResult later = run_tool(file + "--schedule fused --after 1");
  EXPECT_THAT(later.out,
              AllOf(HasSubstr("reorder(ag, [drop, out]): legal"), Not(HasSubstr("split(total)"))));
  const ToolResult not_legal = run_tool(file + "--step fuse(layer,total)");
  EXPECT_EQ(not_legal.exit_code, 1);
  EXPECT_THAT(not_legal.out, HasSubstr("not legal: "));
}

TEST(CliExplain, AStepStandsOnceAndOnlyItsSliceIsRepeated) {
  const std::string out = run_tool("explain examples/pipeline.coco").out;
  EXPECT_THAT(out, AllOf(HasSubstr("\npiece, whole = distribute(r, tp): legal; exact; also "
                                   "distribute(r, SLICE, tp) with SLICE (0), (0..1), (0..2), (1), "
                                   "(1..2), (2), (*)\n"),
                         HasSubstr("\npiece, whole = distribute(b, (0), tp): legal; exact; also "
                                   "distribute(b, (*), tp)\n"),
                         HasSubstr("\nsend = fuse(y, out): legal; exact\n")));
  std::size_t distributes = 0, fuses = 0;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    distributes += line.find(" = distribute(") != std::string::npos;
    fuses += line.find("fuse(y, out)") != std::string::npos;
  }
  EXPECT_EQ(distributes, 4u);  // b, r, total, y
  EXPECT_EQ(fuses, 1u);
}

TEST(CliExplain, EachStepStandsOnThoseBeforeIt) {
  const std::string file = "explain examples/attention.coco --step ";
  const ToolResult legal = run_tool(file + "rs,ag=split(total);fuse(rs,ag)");
  EXPECT_EQ(legal.exit_code, 0);
  EXPECT_THAT(legal.out, HasSubstr("fuse(rs, ag): legal"));
  const ToolResult first = run_tool(file + "rs,ag=split(drop);fuse(rs,ag)");
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_THAT(first.out, AllOf(HasSubstr("not legal: "), HasSubstr("nothing to apply to")));
  EXPECT_EQ(run_tool(file + "rs,ag=split(total);fuse(layer,rs)").exit_code, 1);
  for (const char* name : {"drop", "w", "H"}) {
    const ToolResult taken = run_tool(file + name + ",ag=split(total)");
    EXPECT_EQ(taken.exit_code, 1) << name;
    EXPECT_THAT(taken.out, AllOf(HasSubstr("not legal: "), HasSubstr("taken"))) << name;
  }
}

TEST(CliExplain, WrongArguments) {
  const ToolResult text = run_tool("explain examples/attention.coco --step split(");
  EXPECT_EQ(text.exit_code, 2);
  // Not a line of the file: the step does not stand in it.
  EXPECT_THAT(text.err, AllOf(HasSubstr("error: --step `split(`: "), Not(HasSubstr(" | "))));
  const ToolResult after = run_tool("explain examples/attention.coco --schedule fused --after 9");
  EXPECT_EQ(after.exit_code, 2);
  EXPECT_THAT(after.err, HasSubstr("--after 9: schedule fused has steps 0 to "));
  EXPECT_EQ(run_tool("explain examples/attention.coco --after 1").exit_code, 2);
}

// Of a schedule that sums in another order the bits may differ; its own operations are checked.
TEST(CliVerify, AScheduleThatReassociatesNeedNotHaveTheBits) {
  const std::string program = R"(mesh world(dp)
dim S, H
program it(x: f32[S,H] local) {
  t = all_reduce(x, +)
  n = norm(t)
  y = t / n
  return y
}
schedule rows for it { rs, ag = split(t, (0)); body, g = reorder(ag, [n, y]) }
)";
  const ToolResult result =
      run_on("run", program, "--ranks 3 --dim S=50,H=70 --schedule rows --verify");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("bit-equal to unscheduled: no (the schedule reassociates"),
                    HasSubstr("within bound: yes")));
}

}  // namespace
}  // namespace coconet::tests
