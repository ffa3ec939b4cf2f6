// `coconet run` on the examples: results verified, JSON, inputs and files.
#include <gmock/gmock.h>
#include <sys/resource.h>

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

const std::string kAttention = "run examples/attention.coco --dim B=2,S=8,H=32 ";
const std::string kOptimizer = "examples/data/optimizer.safetensors";

TEST(CliRun, AttentionInEveryScheduleAndRankCount) {
  for (const char* ranks : {"1", "3", "4"}) {
    expect_verified(kAttention + "--schedule overlapped --ranks " + ranks);
  }
  for (const char* schedule : {"reordered", "fused"}) {
    expect_verified(kAttention + "--ranks 3 --schedule " + schedule);
  }
  expect_verified(kAttention + "--ranks 2");
}

TEST(CliRun, AttentionInEveryDType) {
  for (const char* dtype : {"f32", "bf16", "f64"}) {
    expect_verified(kAttention + "--ranks 3 --schedule overlapped --dtype T=" + dtype);
  }
}

TEST(CliRun, TailsWithLayerNormInEveryDType) {
  for (const std::string dtype : {"f64", "f32", "bf16"}) {
    for (const std::string file : {"attention_norm", "mlp_norm"}) {
      const ToolResult result =
          run_tool("run examples/" + file + ".coco --ranks 3 --dim B=2,S=5,H=9 --schedule fused " +
                   "--verify --dtype T=" + dtype);
      EXPECT_EQ(result.exit_code, 0) << dtype << result.err;
    }
  }
}

TEST(CliRun, LambInEverySchedule) {
  const std::string lamb = "run examples/lamb.coco --dim N=100003 --scalar t=3 --ranks ";
  expect_verified(lamb + "1 --schedule fused");
  expect_verified(lamb + "2 --schedule reordered");
  expect_verified(lamb + "3 --schedule sharded");
  expect_verified(lamb + "4 --schedule fused");
}

TEST(CliRun, OddSizesAndMoreRanksThanRows) {
  for (const char* dims : {"B=0,S=5,H=7", "B=1,S=1,H=1", "B=3,S=1,H=0", "B=1,S=3,H=11"}) {
    expect_verified(std::string("run examples/attention.coco --ranks 8 --schedule overlapped "
                                "--dim ") +
                    dims);
  }
  for (const char* dims : {"N=0", "N=1", "N=1025"}) {
    expect_verified(std::string("run examples/lamb.coco --ranks 5 --schedule fused --scalar t=1 "
                                "--dim ") +
                    dims);
  }
}

TEST(CliRun, MoreRanksThanCoresTakeMilliseconds) {
  const ToolResult result = run_tool(kAttention +
                                     "--ranks 8 --schedule overlapped --repeat 20 "
                                     "--json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(std::stod(json_at(result.out, "time_us/median")), 1e6) << result.out;
}

// Waiting ranks must leave the cores to those that work: what they do grows with their number, and
// with its square it would be a minute here.
TEST(CliRun, ManyRanksWaitWithoutBeingInTheWay) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "256 ranks need too much memory under a sanitizer";
#endif
  const TemporaryFolder folder;
  test::write_text(folder.path("sum.coco"),
                   "mesh world(dp)\ndim N\nprogram sum(x: f32[N] local) {\n"
                   "  y = all_reduce(x, +)\n  return y\n}\n");
  const auto processor_seconds = [] {
    rusage use{};
    getrusage(RUSAGE_CHILDREN, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec);
  };
  const double before = processor_seconds();
  const ToolResult result = run_tool("run " + folder.path("sum.coco") + " --ranks 256 --dim N=3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(processor_seconds() - before, 12);
}

TEST(CliRun, JsonHasExactlyItsKeys) {
  const ToolResult result =
      run_tool(kAttention + "--ranks 3 --schedule fused --verify --json --seed 7");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(json_keys(result.out),
              ElementsAre("program", "schedule", "knobs", "mesh", "dims", "threads", "seed",
                          "outputs", "time_us", "kernels", "bytes_sent", "compile_ms"));
  EXPECT_THAT(json_keys(result.out, "outputs/0"),
              ElementsAre("name", "kind", "dtype", "shape", "placement", "bit_equal_to_unscheduled",
                          "max_difference_to_interpreter", "within_bound", "want"));
  EXPECT_THAT(json_keys(result.out, "time_us"), ElementsAre("median", "min", "max", "per_rank"));
  EXPECT_EQ(json_at(result.out, "mesh/tp"), "3");
  EXPECT_EQ(json_at(result.out, "dims/H"), "32");
  EXPECT_THAT(json_keys(result.out, "dims"), ElementsAre("B", "S", "H"));  // as declared
  EXPECT_EQ(json_at(result.out, "seed"), "7");
  EXPECT_EQ(json_at(result.out, "outputs/0/dtype"), "f16");
  EXPECT_EQ(json_at(result.out, "outputs/0/shape"), "[2,8,32]");
  EXPECT_EQ(json_at(result.out, "outputs/0/bit_equal_to_unscheduled"), "true");
  EXPECT_NE(json_at(result.out, "time_us/per_rank/2"), "");
}

TEST(CliRun, TheMaskDependsOnTheSeedAloneNotOnRanks) {
  const TemporaryFolder folder;
  const auto value = [&](const std::string& words, const std::string& name) {
    const ToolResult result =
        run_tool("run examples/attention.coco --dim B=1,S=6,H=16 --in " +
                 folder.path("in.safetensors") + words + " --out " + folder.path(name));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_npy(folder.path(name) + "/out.npy");
  };
  // Zeros but for the bias: what is left of it is the mask, whatever the matmul's order.
  std::map<std::string, TensorData> inputs;
  for (const char* name : {"x", "r"}) inputs[name] = TensorData::zeros(DTypeKind::f16, {1, 6, 16});
  inputs["w"] = TensorData::zeros(DTypeKind::f16, {16, 16});
  inputs["b"] = TensorData::zeros(DTypeKind::f16, {16});
  for (int i = 0; i < 16; ++i) inputs["b"].set_value(i, 1);
  write_safetensors(folder.path("in.safetensors"), inputs);
  const TensorData one = value(" --ranks 1 --scalar rate=0.5", "one");
  EXPECT_EQ(value(" --ranks 3 --scalar rate=0.5 --schedule overlapped", "three"), one);
  EXPECT_EQ(value(" --ranks 4 --scalar rate=0.5 --schedule fused", "four"), one);
  EXPECT_NE(value(" --ranks 1 --scalar rate=0.5 --seed 1", "other"), one);
  EXPECT_EQ(value(" --ranks 2 --scalar rate=1", "none"),
            TensorData::zeros(DTypeKind::f16, {1, 6, 16}));
}

TEST(CliRun, ADropoutRateOutsideItsRangeIsRefused) {
  for (const char* rate : {"1.5", "-0.25", "nan"}) {
    const ToolResult result = run_tool(kAttention + "--ranks 2 --scalar rate=" + rate);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err,
                HasSubstr("examples/attention.coco:10:11: error: the rate of this dropout, rate, "
                          "must be from 0 to 1; found " +
                          std::string(rate) + "\n"));
  }
  const TemporaryFolder folder;
  const std::string file = folder.path("computed.coco");
  test::write_text(file,
                   "mesh w(tp)\ndim N\nprogram p(x: f32[N], scalar a: f32) {\n"
                   "  y = dropout(x, a - 1.0)\n  return y }\n");
  const ToolResult computed = run_tool("run " + file + " --ranks 1 --dim N=2 --scalar a=0.75");
  EXPECT_EQ(computed.exit_code, 1);
  EXPECT_THAT(computed.err, AllOf(HasSubstr("rank 0: y at " + file +
                                            ":4:7: the rate of a dropout must be from 0 "
                                            "to 1; found -0.25\n"),
                                  Not(HasSubstr("fault"))));
  expect_verified(kAttention + "--ranks 2 --schedule fused --scalar rate=1");
  expect_verified(kAttention + "--ranks 2 --schedule fused --scalar rate=0");
}

TEST(CliRun, AdamOnRealGradientsIsWithinItsBounds) {
  const std::string adam =
      "run examples/adam.coco --ranks 4 --schedule sharded --scalar t=11 --in g=" + kOptimizer +
      ":b.g --in p=" + kOptimizer + ":b.p --in m=" + kOptimizer + ":b.m --in v=" + kOptimizer +
      ":b.v ";
  const ToolResult good = run_tool(
      adam + "--want p2=" + kOptimizer + ":b.want_adam_p.4 --bound 1e-7 --want m=" + kOptimizer +
      ":b.want_m.4 --bound 1e-8 --want v=" + kOptimizer + ":b.want_v.4 --bound 1e-10 --verify");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(good.err, "");

  TemporaryFolder folder;
  TensorData changed = SafetensorsFile(kOptimizer).read("b.want_adam_p.4");
  changed.set_value(17, changed.value(17) + 0.5);
  write_npy(folder.path("changed.npy"), changed);
  const std::string wrong = adam + "--bound 1e-7 --want p2=" + folder.path("changed.npy");
  const ToolResult text = run_tool(wrong);
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, AllOf(HasSubstr("error: p2 is not within its bound"),
                              HasSubstr("largest difference "), HasSubstr("[17]")));
  const ToolResult json = run_tool(wrong + " --json");
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_EQ(json_at(json.out, "outputs/0/want/within_bound"), "false");
  EXPECT_NEAR(std::stod(json_at(json.out, "outputs/0/want/max_difference")), 0.5, 1e-6);
  EXPECT_EQ(json_at(json.out, "error/where"), "p2[17]");
  EXPECT_EQ(json_at(json.out, "error/exit_code"), "1");
}

TEST(CliRun, FilesComeBackAsTheyWent) {
  const TemporaryFolder folder;
  const std::string first =
      "run examples/sgd.coco --ranks 3 --dtype G=bf16 --dim N=2500 --out " + folder.path("out");
  ASSERT_EQ(run_tool(first).exit_code, 0) << run_tool(first).err;
  // bf16 has no .npy form.
  test::write_text(folder.path("cast.coco"),
                   "mesh world(dp)\ndim N\nprogram cut(x: bf16[N]) { y = x + x return y }\n");
  const std::string cut =
      "run " + folder.path("cast.coco") + " --ranks 2 --dim N=7 --out " + folder.path("cut");
  ASSERT_EQ(run_tool(cut).exit_code, 0);
  const std::string file = folder.path("cut") + "/y.safetensors";
  EXPECT_EQ(SafetensorsFile(file).read("y").dtype, DTypeKind::bf16);
  EXPECT_EQ(run_tool(cut + " --want y=" + file).exit_code, 0);
}

TEST(CliRun, WantedIntegersAreComparedAsIntegers) {
  const TemporaryFolder folder;
  test::write_text(folder.path("same.coco"),
                   "mesh world(dp)\ndim N\nprogram same(x: i64[N]) { y = x + 0 return y }\n");
  TensorData tensor = TensorData::zeros(DTypeKind::i64, {3});
  tensor.set_integer(1, (std::int64_t{1} << 53) + 1);
  write_npy(folder.path("x.npy"), tensor);
  const std::string run = "run " + folder.path("same.coco") +
                          " --ranks 2 --in x=" + folder.path("x.npy") +
                          " --want y=" + folder.path("want.npy");
  write_npy(folder.path("want.npy"), tensor);
  EXPECT_EQ(run_tool(run).exit_code, 0);
  tensor.set_integer(1, std::int64_t{1} << 53);
  write_npy(folder.path("want.npy"), tensor);
  const ToolResult result = run_tool(run);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("worst at [1]: got 9007199254740993, want 9007199254740992"));
  EXPECT_EQ(run_tool(run + " --bound 1").exit_code, 0);
}

}  // namespace
}  // namespace coconet::tests
