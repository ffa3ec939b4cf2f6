// Faults of placements that were seen in libraries of distributed tensors, each refused or with its
// right value by interpreter, plan executor and generated code. What is held elsewhere:
//
//   fault                                                    held by
//   an operation or dtype that a backend skips in silence    property/dtypes_test.cc
//   slices that overlap, in an order that cannot be          unit/type/layout_test.cc
#include <gmock/gmock.h>

#include "coconet/execute/run.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"
#include "tests/support/everywhere.h"

namespace coconet::tests {
namespace {

using fixture::expect_refused;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using Values = std::vector<double>;

Values ramp(int count) {
  Values out(count);
  for (int i = 0; i < count; ++i) out[i] = i;
  return out;
}

void refused(const std::string& inputs, const std::string& statements,
             const std::vector<std::string>& words, const std::string& mesh = "tp") {
  const std::string text = "mesh world(" + mesh + ")\ndim N, M, K\nprogram p(" + inputs + ") {\n" +
                           statements + "\n  return out\n}\n";
  SCOPED_TRACE(text);
  try {
    parse_file(text);
    ADD_FAILURE() << "accepted";
  } catch (const UserErrors& errors) {
    for (const std::string& word : words) EXPECT_THAT(errors.what(), testing::HasSubstr(word));
  }
}

// A bias added to each rank's summand counts once a rank.
TEST(FieldPlacements, ABiasMeetsTheSumAndNoSummand) {
  const std::string inputs = "a: f32[N,K] sliced(1), b: f32[K,M] sliced(0), bias: f32[M]";
  refused(inputs, "  out = all_reduce(matmul(a, b) + bias, +)",
          {"partial(+) + f32[M]", "added once per rank", "as_partial(b, +)"});
  refused(inputs, "  out = relu(matmul(a, b))", {"partial(+)"});
  const Everywhere ran =
      run_everywhere(R"(
mesh world(tp)
dim M
program p(x: f32[M] partial(+), bias: f32[M]) {
  out = all_reduce(x, +) + bias
  other = all_reduce(x + as_partial(bias, +), +)
  return out, other
}
)",
                     "", {{"M", 2}}, {3}, {{"x", {1, 2, 10, 20, 100, 200}}, {"bias", {0.5, 7}}});
  EXPECT_THAT(ran.on_rank("out", 2), ElementsAre(111.5, 229));
  EXPECT_THAT(ran.on_rank("other", 1), ElementsAre(111.5, 229));
}

// The norm of a sum is not the norm of its summands: (1,3) and (2,1) are the pieces of (3,4).
TEST(FieldPlacements, TheNormOfASumIsTakenAfterIt) {
  refused("x: f32[N] partial(+)", "  out = norm(x)", {"norm", "partial(+)", "all_reduce(x, +)"});
  const Everywhere ran = run_everywhere(R"(
mesh world(tp)
dim N
program p(x: f32[N] partial(+)) {
  out = norm(all_reduce(x, +))
  cut = norm(reduce_scatter(x, +, (0)))
  return out, cut
}
)",
                                        "", {{"N", 2}}, {2}, {{"x", {1, 3, 2, 1}}});
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(ran.on_rank("out", rank), ElementsAre(5));
    EXPECT_THAT(ran.on_rank("cut", rank), ElementsAre(5));
  }
}

// Padded or refused shards: (5,3) on a mesh of 2x2, by both dims, and both axes on one.
TEST(FieldPlacements, UnevenShardsHoldTheirOwnElements) {
  const Everywhere ran =
      run_everywhere(R"(
mesh world(a, b)
dim N, M
program p(x: f32[N,M] sliced(0)@a sliced(1)@b, y: f32[N,M] sliced(0)@[a,b]) {
  u = x + 0
  v = y + 0
  w = all_gather(u)@[a,b]
  z = all_gather(all_gather(v)@b)@a
  m = mean(x)
  r = all_reduce(sum(y, [0]), +)@[a,b]
  e = all_to_all(y, 0, 1)@b
  return u, v, w, z, m, r, e
}
)",
                     "", {{"N", 5}, {"M", 3}}, {2, 2}, {{"x", ramp(15)}, {"y", ramp(15)}});
  EXPECT_THAT(ran.on_rank("u", 0), ElementsAre(0, 1, 3, 4, 6, 7));
  EXPECT_THAT(ran.on_rank("u", 1), ElementsAre(2, 5, 8));
  EXPECT_THAT(ran.on_rank("u", 2), ElementsAre(9, 10, 12, 13));
  EXPECT_THAT(ran.on_rank("u", 3), ElementsAre(11, 14));
  EXPECT_THAT(ran.on_rank("v", 0), ElementsAre(0, 1, 2, 3, 4, 5));  // 3 rows on a: 2 and 1 on b
  EXPECT_THAT(ran.on_rank("v", 1), ElementsAre(6, 7, 8));
  EXPECT_THAT(ran.on_rank("v", 2), ElementsAre(9, 10, 11));
  EXPECT_THAT(ran.on_rank("v", 3), ElementsAre(12, 13, 14));
  EXPECT_THAT(ran.on_rank("e", 2), ElementsAre(9, 10, 12, 13));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(ran.on_rank("w", rank), ElementsAreArray(ramp(15)));
    EXPECT_THAT(ran.on_rank("z", rank), ElementsAreArray(ramp(15)));
    EXPECT_THAT(ran.on_rank("m", rank), ElementsAre(7));
    EXPECT_THAT(ran.on_rank("r", rank), ElementsAre(30, 35, 40));
  }
}

// A rank without elements that leaves a collective out, or brings zeros to a maximum: 1x4 on 2
// ranks and 2 rows on 4.
TEST(FieldPlacements, ARankWithAnEmptySliceTakesPart) {
  const std::string program = R"(
mesh world(tp)
dim N, M
program p(x: f32[N,M] sliced(0), g: f32[N,M] partial(max), w: f32[M,M]) {
  u = x - 0
  top = all_reduce(max(x), max)
  product = all_reduce(prod(x, [0]), prod)
  middle = mean(x)
  length = norm(x)
  whole = all_gather(x)
  rs = all_gather(reduce_scatter(g, max, (0)))
  layer = all_gather(matmul(x, w))
  shares = all_gather(softmax(x))
  turned = all_gather(all_to_all(x, 0, 1))
  return u, top, product, middle, length, whole, rs, layer, shares, turned
}
)";
  const Values unit = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  for (const auto& [rows, ranks] : {std::pair<int, int>{1, 2}, {2, 4}}) {
    Values x(rows * 4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = -1 - static_cast<double>(i);
    const Everywhere ran =
        run_everywhere(program, "", {{"N", rows}, {"M", 4}}, {ranks}, {{"x", x}, {"w", unit}});
    EXPECT_THAT(ran.on_rank("u", ranks - 1), IsEmpty());
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_THAT(ran.on_rank("top", rank), ElementsAre(-1));
      EXPECT_THAT(ran.on_rank("middle", rank), ElementsAre(rows == 1 ? -2.5 : -4.5));
      EXPECT_THAT(ran.on_rank("whole", rank), ElementsAreArray(x));
      EXPECT_THAT(ran.on_rank("layer", rank), ElementsAreArray(x));
      EXPECT_THAT(ran.on_rank("turned", rank), ElementsAreArray(x));
    }
    if (rows == 1) continue;
    EXPECT_THAT(ran.on_rank("product", 3), ElementsAre(5, 12, 21, 32));
  }
}

// Pieces put together in the order of the wrong axis.
TEST(FieldPlacements, AxesOfOneDimAreGatheredFromTheLast) {
  refused("x: f32[N] sliced(0)@[dp,tp]", "  out = all_gather(x)@dp", {"tp", "gather"}, "dp, tp");
  refused("x: f32[N,M] sliced(1)@tp sliced(*)@dp", "  out = all_gather(x)@tp", {"dp", "gather"},
          "dp, tp");
  const Everywhere ran = run_everywhere(R"(
mesh world(dp, tp)
dim N
program p(x: f32[N] sliced(0)@[dp,tp], y: f32[N] sliced(0)@[tp,dp]) {
  a = all_gather(all_gather(x)@tp)@dp
  b = all_gather(all_gather(y)@dp)@tp
  c = y + 0
  return a, b, c
}
)",
                                        "", {{"N", 7}}, {2, 2}, {{"x", ramp(7)}, {"y", ramp(7)}});
  EXPECT_THAT(ran.on_rank("c", 1), ElementsAre(4, 5));  // dp 0, tp 1: the second half's first
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(ran.on_rank("a", rank), ElementsAreArray(ramp(7)));
    EXPECT_THAT(ran.on_rank("b", rank), ElementsAreArray(ramp(7)));
  }
}

// Weights that are to be equal on all ranks and are not, after one rank loaded another checkpoint.
TEST(FieldPlacements, AReplicatedInputThatDiffersIsReported) {
  Planned sample = planned(
      "mesh world(tp)\ndim N\nprogram p(w: f32[N], x: f32[N] local) {\n"
      "  out = w + all_reduce(x, +)\n  return out\n}\n",
      "", {{"N", 5}}, {3});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting = sample.setting;
  request.kind = runtime::RankKind::thread;
  request.inputs = sample.inputs;
  EXPECT_NO_THROW(execute::run(compiled, request));
  request.inputs.at("w")[2][7] ^= std::byte{1};
  expect_refused([&] { execute::run(compiled, request); }, {"replicated inputs differ"});
}

// An all_reduce of what all ranks have, or of slices, multiplies or mixes.
TEST(FieldPlacements, OnlyWhatIsPartialOrLocalIsReduced) {
  refused("x: f32[N]", "  out = all_reduce(x, +)", {"replicated"});
  refused("x: f32[N] sliced(0)", "  out = all_reduce(x, +)", {"sliced(0)"});
  refused("x: f32[N] partial(max)", "  out = all_reduce(x, +)", {"partial(max)"});
}

}  // namespace
}  // namespace coconet::tests
