// Equal for what is the same but for names, different else.
#include "coconet/tune/graph_key.h"

#include <gtest/gtest.h>

#include <set>

#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"

namespace coconet::tune {
namespace {

Graph of(const std::string& body, const std::string& steps = "",
         const std::string& inputs = "x: f32[M,N] local, y: f32[M,N], state m: f32[M,N]") {
  const Graph graph =
      parse_program("mesh world(dp)\ndim M, N\nprogram p(" + inputs + ") {\n" + body + "}\n");
  return apply(graph, parse_schedule("schedule s for p {\n" + steps + "}")).graph;
}

const std::string kStep =
    "  total = all_reduce(x, +)\n  m2 = update(m, m + total)\n  out = m2 * y\n  return out\n";

TEST(GraphKey, NamesAndTheOrderOfStepsDoNotCount) {
  const std::uint64_t one = graph_key(of(
      kStep, "a, b = split(total, (0))\nbody, g, h = reorder(b, [m2, out])\nfuse(a, body, h)\n"));
  const std::uint64_t other = graph_key(
      of(kStep,
         "c, d = split(total, (0))\nbulk, k, l = reorder(d, [m2, out])\nw = fuse(c, bulk, l)\n"));
  EXPECT_EQ(one, other);
  const std::string renamed =
      "  t = all_reduce(x, +)\n  n = update(m, m + t)\n  out = n * y\n  return out\n";
  EXPECT_EQ(graph_key(of(kStep)), graph_key(of(renamed)));
}

TEST(GraphKey, EveryStepCounts) {
  const std::string split = "a, b = split(total, (0))\n",
                    reorder = "body, g, h = reorder(b, [m2, out])\n";
  const std::vector<std::string> schedules = {
      "",
      split,
      "a, b = split(total, (1))\n",
      "a, b = split(total, (*))\n",
      "a, b = split(total, reduce_broadcast)\n",
      split + reorder,
      split + reorder + "as_slice(m)\n",
      split + reorder + "as_slice(m)\ndead(g)\n",
      split + reorder + "fuse(a, body)\n",
      split + reorder + "fuse(a, body, h)\n",
      split + reorder + "k = fuse(body)\noverlap(a, k)\n",
      split + reorder + "k = fuse(body)\noverlap(a, k, h)\n",
      "fuse(m2, out)\n",
  };
  std::set<std::uint64_t> keys;
  for (const std::string& steps : schedules)
    EXPECT_TRUE(keys.insert(graph_key(of(kStep, steps))).second) << steps;
}

TEST(GraphKey, EveryAttributeOfAnOperationCounts) {
  const std::vector<std::string> bodies = {"out = max(y, [0])",
                                           "out = max(y, [1])",
                                           "out = min(y, [1])",
                                           "out = y + 1",
                                           "out = y + 2",
                                           "out = y - 1",
                                           "out = shift(y, dp, 1)",
                                           "out = shift(y, dp, 2)",
                                           "out = shift(y, dp, 1, wrap)",
                                           "out = dropout(y, 0.5, site=0)",
                                           "out = dropout(y, 0.5, site=1)",
                                           "out = dropout(y, 0.25, site=0)",
                                           "out = transpose(y, [1,0])",
                                           "out = transpose(y, [0,1])",
                                           "out = all_reduce(x, +)",
                                           "out = all_reduce(x, max)",
                                           "out = concat(y, y, 0)",
                                           "out = concat(y, y, 1)",
                                           "out = y * size(dp)",
                                           "out = y * size(M)",
                                           "out = y * size(N)",
                                           "out = softmax(y, [0])",
                                           "out = softmax(y)",
                                           "out = cast(y, f16)",
                                           "out = cast(y, bf16)",
                                           "out = y * y",
                                           "out = broadcast(root(y, 0))",
                                           "out = broadcast(root(y, 1))"};
  std::set<std::uint64_t> keys;
  for (const std::string& body : bodies) {
    EXPECT_TRUE(keys.insert(graph_key(of("  " + body + "\n  return out\n", "",
                                         "x: f32[M,N] local, y: f32[M,N]")))
                    .second)
        << body;
  }
}

}  // namespace
}  // namespace coconet::tune
