// Lists of tensors by the tool: sizes, files, verified schedules.
#include <gmock/gmock.h>

#include "coconet/io/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kClip = "run examples/clip.coco ";

TEST(CliList, EverySchedule) {
  const std::string sizes = " --dim N_i=5,1027,0,1,4096 --ranks ";
  for (const char* ranks : {"1", "2", "3", "5", "8"}) {
    expect_verified(kClip + "--schedule sharded" + sizes + ranks);
  }
  expect_verified(kClip + "--schedule reordered --one-process" + sizes + "4");
  const std::string lamb = "run examples/lamb_list.coco --scalar t=2 --schedule ";
  for (const char* ranks : {"1", "3", "8"}) expect_verified(lamb + "sharded" + sizes + ranks);
  expect_verified(lamb + "reordered" + sizes + "4");
}

TEST(CliList, OneMemberAndEmptyOnes) {
  for (const char* sizes : {"7", "0", "0,0,1", "1024,2048"}) {
    expect_verified(kClip + "--ranks 3 --schedule sharded --dim N_i=" + sizes);
  }
}

const std::string kAll =
    "mesh world(dp)\ndim N_i, M_i, N, H\ndtype T = f16\n"
    "def unit(x, s) = x / s\n"
    "program all(g: T[N_i,H] list local, p: f32[N_i,H] list, q: f32[M_i] list sliced(*), s: f32[] "
    "list, w: f32[N,H], state m: f32[N_i,H] list, state r: f32[] list, state f: f32[N,H], "
    "scalar rate: f32 = 0.25) {\n"
    "  total = all_reduce(cast(g, f32), +)\n  n = norm(total)\n  k = where(n > 1, 1 / n, s)\n"
    "  u = across(k, +)\n  r2 = update(r, 0.5 * r + k)\n"
    "  m2 = update(m, m * 0.9 + dropout(total, rate))\n  p2 = update(p, p - unit(m2, u) * k)\n"
    "  a = across(g, +, size=[N,H])\n  b = all_reduce(cast(a, f32), max)\n"
    "  c = across(p, prod, size=[N,H])\n  f2 = update(f, f + b * w + c)\n"
    "  e = mean(q)\n  v = mean(g)\n  x = sum(q)\n  y = max(q)\n  z = all_gather(q * e)\n"
    "  i = broadcast(reduce(g, min, 0))\n  j = shift(g, dp, 1)\n  o = norm(g, out=f32)\n"
    "  return e, v, x, y, z, i, j, o, u\n}\n"
    "schedule sharded for all {\n  rs, ag = split(total)\n"
    "  body, gm, gp = reorder(ag, [n, k, u, r2, m2, p2])\n  as_slice(m)\n  dead(gm)\n"
    "  fuse(rs, body, gp)\n  fuse(c, f2)\n}\n";

const std::string kPlaced = R"(mesh world(dp, tp)
dim N_i, K_j, H
require N_i != 3 and H > 0
program two(x: f32[N_i,H] list partial(+)@tp, y: bf16[N_i,H] list local@dp,
            z: f32[K_j] list sliced(*)@[dp,tp], r: f32[N_i,H] list rooted(0)@tp local@dp,
            s: f32[] list, t: f32[] list(j), k: i64[K_j] list local@tp,
            u: f32[N_i,H] list sliced(*)@tp) {
  a = all_reduce(x / 2 + as_partial(s * 2, +)@tp, +)@tp
  b = reduce_scatter(cast(y, f32), +, (*))@dp
  c = all_gather(b)@dp - a
  d = broadcast(r + s)@tp
  e = broadcast(d, 0)@dp
  f = z * t + 1
  g = norm(f)
  h = across(g, max) + across(t, min)
  i = all_reduce(k * k, prod)@tp
  j = prod(i)
  l = across(j, +)
  m = shard(c, (*))@tp * u
  n = all_gather(m)@tp
  o = norm(m)
  p = mean(all_reduce(x, +)@tp)
  q = root(s, 0)@dp
  v = all_gather(f)@[dp,tp]
  w = shift(y, dp, -1, wrap)
  aa = reduce(w, max, 0)@dp
  bb = mean(z)
  cc = mean(u)
  return a, c, e, g, h, i, l, n, o, p, q, v, w, aa, bb, cc
}
)";

// Every operation on lists and every placement of one, as generated code.
TEST(CliList, EveryOperation) {
  for (const char* ranks : {"1", "2", "3", "4"}) {
    const std::string options = std::string(" --ranks ") + ranks;
    const std::string alike = " --dim N_i=4,4,4,N=4,H=300,M_i=5,0,2100";
    expect_verified(kAll, options + alike);
    expect_verified(kAll, options + alike + " --schedule sharded");
    expect_verified(kAll, options + " --dim N_i=,N=3,H=5 --schedule sharded");
    expect_verified(kAll, options + " --dim N_i=0,0,N=0,H=5,M_i=0,0 --dtype T=bf16");
  }
  for (const char* mesh : {"dp=1,tp=1", "dp=1,tp=2", "dp=3,tp=1", "dp=2,tp=2"}) {
    const std::string options = std::string(" --mesh ") + mesh;
    expect_verified(kPlaced, options + " --dim N_i=5,1,0,20,K_j=4,2100,H=130");
    expect_verified(kPlaced, options + " --dim N_i=,K_j=0,H=1");
  }
}

// The one size of its members need not be given again.
TEST(CliList, AcrossSaysTheSizeOfItsMembers) {
  const TemporaryFolder folder;
  const std::string file = folder.path("it.coco");
  test::write_text(file,
                   "mesh world(dp)\ndim N_i, N\nprogram p(g: f32[2*N_i] list) {\n"
                   "  y = across(g, +, size=[4*N])\n  return y\n}\n");
  const std::string run = "run " + file + " --ranks 2 --json --dim N_i=";
  const ToolResult found = run_tool(run + "6,6");
  EXPECT_EQ(json_at(found.out, "dims/N"), "3");
  EXPECT_THAT(json_keys(found.out, "dims"), testing::ElementsAre("N_i", "N"));  // as declared
  EXPECT_THAT(run_tool("run " + file + " --ranks 2 --dim N_i=6,6").out,
              HasSubstr("dims       N_i=6,6, N=3\n"));
  EXPECT_THAT(run_tool(run + "6,4").out, HasSubstr("member 1 has 2*N_i = 8 and member 0 4*N = 12"));
  EXPECT_THAT(run_tool(run + "5,5").out,
              HasSubstr("no size of N makes 4*N, which across says, the 10 that member 0 has of"));
  EXPECT_THAT(run_tool(run).out, HasSubstr("but the list has no members; give --dim N=SIZE"));
  EXPECT_EQ(run_tool(run + ",N=3").exit_code, 0);
}

TEST(CliList, OfNoMembers) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out"), file = out + "/p2.safetensors";
  for (const char* schedule : {"", " --schedule sharded", " --schedule reordered"}) {
    const ToolResult result = run_tool(kClip + "--ranks 3 --verify --dim N_i=" + schedule);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  const std::string run = kClip + "--ranks 2 --json ";
  const ToolResult made = run_tool(run + "--dim N_i= --out " + out);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(json_at(made.out, "dims/N_i"), "[]");
  EXPECT_TRUE(SafetensorsFile(file).entries().empty());
  const std::string given = run + "--in p=" + file + ":p2 ";
  EXPECT_EQ(run_tool(given + "--dim N_i=").exit_code, 0);
  EXPECT_EQ(run_tool(run + "--in " + file + " --dim=N_i=").exit_code, 0);
  EXPECT_THAT(run_tool(given).out, HasSubstr("a list of no members is --dim N_i="));
  EXPECT_THAT(run_tool("run examples/sgd.coco --ranks 2 --dim N=").err,
              HasSubstr("takes one size, as N is no dim of a list; found none"));
  EXPECT_THAT(run_tool(kClip + "--ranks 2 --dim N_i=,3").err, HasSubstr("found ''"));
  EXPECT_THAT(run_tool(kClip + "--ranks 2 --dim N_i=3 --dim 4").err,
              HasSubstr("--dim takes NAME=VALUE; found '4'"));
}

TEST(CliList, MembersGoToAFileAndComeBack) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  const std::string run = kClip + "--ranks 3 --dtype G=f32 ";
  ASSERT_EQ(run_tool(run + "--dim N_i=3,1025,0 --out " + out).exit_code, 0);
  const SafetensorsFile file(out + "/p2.safetensors");
  EXPECT_EQ(file.read("p2.0").shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(file.read("p2.1").shape, std::vector<std::int64_t>{1025});
  EXPECT_EQ(file.read("p2.2").shape, std::vector<std::int64_t>{0});
  // The sizes are the file's.
  const std::string again = run + "--scalar lr=0 --in p=" + out + "/p2.safetensors:p2 --json ";
  const ToolResult result = run_tool(again + "--want p2.1=" + out + "/p2.safetensors");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      run_tool(kClip + "--ranks 3 --dtype G=f16 --in g=" + out + "/p2.safetensors:p2").err,
      HasSubstr("g.0 has dtype f32; needed is f16 (G, by --dtype; in C++, by the graph); it is "
                "from " +
                out));
  EXPECT_EQ(json_at(result.out, "dims/N_i"), "[3,1025,0]");
  EXPECT_EQ(json_at(result.out, "outputs/1/name"), "p2.1");
  EXPECT_EQ(json_at(result.out, "outputs/1/want/within_bound"), "true");
  EXPECT_THAT(run_tool(again + "--dim N_i=3,1025").err, HasSubstr("one number of members"));
  EXPECT_THAT(run_tool(again + "--dim N_i=3,1025,1").err,
              AllOf(HasSubstr("p.2"), HasSubstr("must be 1; found 0")));
}

// A file of four ranks' gradients on two: what the message says is obeyed.
TEST(CliList, AFileOfMoreRanksIsCut) {
  const TemporaryFolder folder;
  const std::string path = folder.path("g.safetensors");
  TensorData member = TensorData::zeros(DTypeKind::f16, {4, 3});
  for (std::int64_t i = 0; i < 12; ++i) member.set_value(i, static_cast<double>(i));
  write_safetensors(path, {{"w.g.0", member}, {"w.g.1", member}});
  const std::string run = kClip + "--ranks 2 ";
  const std::string error = run_tool(run + "--in g=" + path + ":w.g").err;
  EXPECT_THAT(error, HasSubstr("a file with more can be cut: g=FILE:NAME[0:2])"));
  const std::string cut = run + "--scalar limit=1e9 --in g=" + path + ":w.g[0:2] --in p=" + path +
                          ":w.p --scalar lr=1 --out " + folder.path("out");
  write_safetensors(path, {{"w.g.0", member},
                           {"w.g.1", member},
                           {"w.p.0", TensorData::zeros(DTypeKind::f32, {3})},
                           {"w.p.1", TensorData::zeros(DTypeKind::f32, {3})}});
  const ToolResult result = run_tool(cut);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // p - (the mean of [0, 1, 2] and [3, 4, 5])
  const TensorData p2 = SafetensorsFile(folder.path("out/p2.safetensors")).read("p2.1");
  EXPECT_EQ(p2.value(0), -1.5);
  EXPECT_EQ(p2.value(2), -3.5);
  EXPECT_THAT(run_tool(run + "--in g.0=" + path + ":w.g.0").err,
              HasSubstr("g is a list, whose members are given together; legal: g=FILE"));
}

TEST(CliList, Refusals) {
  EXPECT_THAT(run_tool(kClip + "--ranks 2").err, HasSubstr("give --dim N_i=SIZE,SIZE,..."));
  EXPECT_THAT(run_tool(kClip + "--ranks 2 --dim N_i=3,-1").err, HasSubstr("must not be negative"));
  EXPECT_THAT(run_tool("run examples/sgd.coco --ranks 2 --dim N=3,4").err,
              HasSubstr("N is no dim of a list"));
  EXPECT_THAT(run_tool(kClip + "--ranks 2 --dim N_i=3 --in p=x.npy").err, HasSubstr("p is a list"));
}

}  // namespace
}  // namespace coconet::tests
