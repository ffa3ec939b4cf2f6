// Each transformation, before -> after.
#include <gtest/gtest.h>

#include "coconet/graph/print.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "tests/support/golden.h"

namespace coconet {
namespace {

const char* const kTail = R"(
mesh world(tp)
dim B, S, H
program tail(x: f32[B,S,H] sliced(2), w: f32[H,H] sliced(0), b: f32[H], r: f32[B,S,H],
             scalar rate: f32 = 0.1) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  drop = dropout(total + b, rate)
  out = drop + r
  return out
}
)";

const char* const kMomentum = R"(
mesh world(dp)
dim N
program momentum(g: f16[N] local, p: f32[N], state m: f32[N], scalar lr: f32 = 0.1) {
  total = all_reduce(cast(g, f32), +)
  m2 = update(m, 0.9 * m + total)
  p2 = update(p, p - lr * m2)
  return p2
}
)";

const char* const kNorms = R"(
mesh world(dp)
dim N
program clip(g: f32[N] local, p: f32[N], scalar lr: f32 = 0.1) {
  total = all_reduce(g, +)
  size_p = norm(p)
  size_g = norm(total)
  step = total * (size_p / size_g)
  p2 = update(p, p - lr * step)
  return p2
}
)";

const char* const kGroups = R"(
mesh world(dp, tp)
dim N
program groups(g: f32[N] local@dp local@tp, p: f32[N]) {
  total = all_reduce(g, +)@[dp,tp]
  p2 = update(p, p - total)
  return p2
}
)";

// The graph after each step of the schedule, under the step.
void expect_steps(const std::string& name, const std::string& program, const std::string& steps) {
  const Graph graph = parse_program(program);
  const Schedule schedule =
      parse_schedule("schedule s for " + graph.header().program + " {" + steps + "}");
  std::string text = print(graph, true);
  Applied applied = start(graph);
  for (const Step& step : schedule.steps) {
    applied = apply(applied, step);
    text += "\n# " + text_of(step) + "\n" + print(applied.graph, true);
    EXPECT_EQ(parse_program(print(applied.graph)), applied.graph) << print(applied.graph);
  }
  text += std::string("\n# ") + (applied.exactness == Exactness::exact ? "exact" : "reassociates") +
          "\n";
  expect_golden("schedule/" + name + ".txt", text);
}

TEST(Schedule, Split) { expect_steps("split", kTail, "rs, ag = split(total)"); }
TEST(Schedule, SplitSlice) { expect_steps("split_slice", kTail, "rs, ag = split(total, (1))"); }
TEST(Schedule, SplitUnnamed) { expect_steps("split_unnamed", kTail, "split(total)"); }
TEST(Schedule, SplitReduceBroadcast) {
  expect_steps("split_reduce_broadcast", kTail, "red, whole = split(total, reduce_broadcast)");
}
TEST(Schedule, SplitHierarchical) {
  expect_steps("split_hierarchical", kGroups, "rs, ar, ag = split(total, hierarchical)");
}
TEST(Schedule, Distribute) {
  expect_steps("distribute", kTail,
               "piece, whole = distribute(drop, (0..1)) body, gather = reorder(whole, [out])");
}
TEST(Schedule, DistributeStorage) {
  expect_steps("distribute_storage", kMomentum, "piece, whole = distribute(m)");
}
TEST(Schedule, Reorder) {
  expect_steps("reorder", kTail, "rs, ag = split(total) body, gather = reorder(ag, [drop, out])");
}
TEST(Schedule, ReorderInTwo) {
  expect_steps("reorder_in_two", kTail,
               "rs, ag = split(total) body, gather = reorder(ag, [drop])"
               "rest, last = reorder(gather, [out])");
}
TEST(Schedule, ReorderToRoot) {
  expect_steps("reorder_to_root", kMomentum,
               "red, whole = split(total, reduce_broadcast)"
               "body, bm, bp = reorder(whole, [m2, p2]) as_rooted(m) dead(bm)");
}
TEST(Schedule, ReorderNorms) {
  expect_steps("reorder_norms", kNorms,
               "rs, ag = split(total)"
               "body, gp = reorder(ag, [size_p, size_g, step, p2])"
               "fuse(rs, body, gp)");
}
TEST(Schedule, ReorderNormsOverRows) {
  expect_steps("reorder_norms_over_rows", kNorms,
               "rs, ag = split(total, (0)) body, gs = reorder(ag, [size_g, step])");
}
TEST(Schedule, AsSlice) {
  expect_steps("as_slice", kMomentum,
               "rs, ag = split(total) body, gm, gp = reorder(ag, [m2, p2]) as_slice(m) dead(gm)");
}
TEST(Schedule, FuseCollective) {
  expect_steps("fuse_collective", kMomentum,
               "rs, ag = split(total) body, gm, gp = reorder(ag, [m2, p2]) as_slice(m) dead(gm)"
               "ar = fuse(rs, body, gp)");
}
TEST(Schedule, FuseParts) {
  expect_steps("fuse_parts", kTail,
               "rs, ag = split(total) body, gather = reorder(ag, [drop, out])"
               "first = fuse(rs, drop') second = fuse(out', gather)");
}
TEST(Schedule, FuseComputations) {
  expect_steps("fuse_computations", kTail, "tail = fuse(drop, out)");
}
TEST(Schedule, Overlap) {
  expect_steps("overlap", kTail,
               "rs, ag = split(total) body, gather = reorder(ag, [drop, out])"
               "ar = fuse(rs, body, gather) both = overlap(layer, ar)");
}
TEST(Schedule, OverlapUnfused) {
  expect_steps("overlap_unfused", kTail, "rs, ag = split(total) overlap(layer, rs, ag)");
}

}  // namespace
}  // namespace coconet
