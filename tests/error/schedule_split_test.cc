// What split, distribute, as_slice and dead refuse, and in which words.
#include <gtest/gtest.h>

#include "tests/error/schedule_refusals.h"

namespace coconet {
namespace {

using fixture::expect_step_refused;
using fixture::kAdam;
using fixture::kTail;

std::string program(const std::string& declarations, const std::string& statements) {
  return "mesh world(tp) dim B, S, H, N program p(" + declarations + ") {" + statements + "}";
}

TEST(SplitRefuses, WhatIsNoAllReduce) {
  expect_step_refused(kTail, "split(layer)",
                      {"split(layer)", "`layer` is matmul, not an all_reduce", "`total`"});
  expect_step_refused(kTail, "rs, ag = split(total) split(ag)", {"it is split already"});
  expect_step_refused(kTail, "rs, ag = split(total) split(total)",
                      {"it is split already", "`total` is `ag` now"});
  expect_step_refused(program("g: f32[N] local", "x = all_reduce(g, +) / size(tp) return x"),
                      "split(x)", {"the all_reduce inside it has no name"});
  expect_step_refused(program("g: f32[N]", "x = g + 1.0 return x"), "split(x)",
                      {"the program has none"});
}

TEST(SplitRefuses, Scalars) {
  expect_step_refused(program("g: f32[] local", "x = all_reduce(g, +) return x"), "split(x)",
                      {"one number"});
}

TEST(SplitRefuses, SlicesThatTheValueHasNot) {
  expect_step_refused(kTail, "split(total, (3))", {"cannot be scattered over (3)"});
  expect_step_refused(program("g: f32[1,N] local", "x = all_reduce(g, +) return x"),
                      "split(x, (0))", {"cannot be scattered over (0)", "1"});
}

TEST(SplitRefuses, AFlatDefaultThatAFollowerDoesNotAccept) {
  expect_step_refused(
      program("g: f32[N,H] local, w: f32[H,H]", "x = all_reduce(g, +) y = matmul(x, w) return y"),
      "split(x)", {"`y` cannot follow on sliced(*)", "name a slice"});
}

TEST(SplitRefuses, WrongArgumentsAndResults) {
  expect_step_refused(kTail, "split()",
                      {"found 0 arguments; it takes 1 to 3", "its form is split("});
  expect_step_refused(kTail, "split((0))", {"argument 1 must be an all_reduce"});
  expect_step_refused(kTail, "split(total, layer)", {"must be a slice, as in (0)"});
  expect_step_refused(kTail, "split(total, foo)",
                      {"`foo` is no word of split", "a slice, as (0) or (*)",
                       "one of rs_ag, reduce_broadcast, hierarchical"});
  expect_step_refused(kTail, "distribute(drop, dp)",
                      {"`dp` is no word of distribute", "a mesh axis: tp"});
  expect_step_refused(kTail, "split(total, (0), reduce_broadcast)", {"takes no slice"});
  expect_step_refused(kTail, "split(total, hierarchical)", {"folds over 1 mesh axis", "needs two"});
  expect_step_refused(
      kTail, "rs = split(total)",
      {"found 1 result name; split returns 2: ",
       "the parts in order, as rs, ag; of hierarchical rs, ar, ag, here `total_rs`, `total_ag`"});
  expect_step_refused(kTail, "rs, rs = split(total)", {"`rs` is given twice"});
  expect_step_refused(kTail, "rs, layer = split(total)", {"layer is taken"});
  expect_step_refused(kTail, "rs, out = split(total)", {"out is taken"});
}

TEST(DistributeRefuses, WhatIsNotReplicated) {
  expect_step_refused(kTail, "distribute(layer)",
                      {"needs a replicated value", "`layer`, which is f32[B,S,H] partial(+)"});
  expect_step_refused(kTail, "distribute(rate)", {"one number"});
  expect_step_refused(kTail, "distribute(drop, (0), (1))", {"found two slices, (0) and (1)"});
  expect_step_refused(kTail, "split(total, (0), (1))", {"found two slices", "it takes one"});
  expect_step_refused(kTail, "split(total, rs_ag, hierarchical)",
                      {"found two kinds, rs_ag and hierarchical"});
  expect_step_refused(kTail, "distribute(drop, out)",
                      {"must be a slice, as in (0), or a mesh axis"});
  expect_step_refused(kTail, "distribute(drop, (5))", {"cannot be sharded over (5)"});
  expect_step_refused(
      "mesh world(dp, tp) dim N program p(x: f32[N]) { y = x + x z = y + x return z }",
      "distribute(y)", {"replicated on several axes", "distribute(x, (0), dp)"});
  const std::string two =
      "mesh world(dp, tp) dim N program p(x: f32[N]) { y = x + x z = y + x return z }";
  expect_step_refused(two, "distribute(z, (0), tp)", {"nobody reads `z`"});
  expect_step_refused(two, "distribute(y, (0), tp, tp)", {"the axis tp is given twice"});
  apply(parse_program(two), parse_schedule("schedule s for p { distribute(y, (0), tp, dp) }"));
}

TEST(AsSliceRefuses, WhatIsNoStateUsedSliced) {
  const std::string moved = "rs, ag = split(total) body, gm, gp = reorder(ag, [m2, u, nu, p2]) ";
  expect_step_refused(kAdam, moved + "as_slice(p)",
                      {"`p` is an input, whose placement belongs to the caller", "state p"});
  expect_step_refused(kAdam, moved + "as_slice(gm)", {"`gm` is computed", "takes a state"});
  expect_step_refused(kAdam, "as_slice(m)", {"'*' in m2 reads `m` whole", "shard(m)"});
  expect_step_refused(kAdam, moved + "as_slice(m) as_slice(m)",
                      {"`m` is f32[N] sliced(*) already", "reads it as that"});
  expect_step_refused(kAdam, moved + "as_rooted(m)", {"reads `m` whole", "root(m)"});
  expect_step_refused(
      "mesh world(dp) dim N program p(g: f32[N] local, state m: f32[N]) {"
      "b = broadcast(g, 0) m2 = update(m, b) return m2 }",
      "as_rooted(m)", {"`m2` stores one rank's of a local value in `m`", "no rooted form"});
  expect_step_refused(program("g: f32[N] local, state m: f32[N]",
                              "x = all_reduce(g, +) m2 = update(m, x) return m2"),
                      "as_slice(m)", {"`m2` stores a whole value in `m`", "reorder it"});
  expect_step_refused(
      program("g: f32[N] local, state m: f32[N]", "x = all_reduce(g, +) return x, m"),
      "as_slice(m)", {"returns the old value of `m` whole"});
  expect_step_refused(program("g: f32[N] local, state m: f32[N]", "x = all_reduce(g, +) return x"),
                      "as_slice(m)", {"nobody reads `m` as shard(...)"});
  expect_step_refused(
      program("state m: f32[N,N]", "a = shard(m, (0)) b = shard(m, (1)) return a, b"),
      "as_slice(m)", {"`b` uses `m` as f32[N,N] sliced(1)", "`a` as f32[N,N] sliced(0)"});
  expect_step_refused(kAdam, moved + "fuse(rs, body, gm, gp) as_slice(m)",
                      {"in the group `fusion`", "take this step before"});
}

TEST(DeadRefuses, WhatIsStillNeeded) {
  const std::string moved = "rs, ag = split(total) body, gm, gp = reorder(ag, [m2, u, nu, p2]) ";
  expect_step_refused(kAdam, moved + "dead(gm)", {"`m2` stores `gm` in `m`", "as_slice(m) first"});
  expect_step_refused(kAdam, moved + "dead(rs)", {"`rs` is reduce_scatter"});
  expect_step_refused(kTail, "rs, ag = split(total) dead(ag)", {"'+' in drop still reads `ag`"});
  expect_step_refused(kTail,
                      "rs, ag = split(total) body, gather = reorder(ag, [drop, out]) dead(gather)",
                      {"returns `gather` as `out`"});
}

TEST(StepsRefuse, UnknownVerbsAndNames) {
  expect_step_refused(kTail, "splt(total)",
                      {"there is no step `splt`", "did you mean `split`",
                       "split, distribute, reorder, as_slice, as_rooted, dead, fuse, overlap"});
  expect_step_refused(kTail, "split(totl)", {"no value is called `totl`; did you mean `total`?"});
  expect_step_refused(kTail, "split([total])", {"must be an all_reduce"});
}

TEST(StepsRefuse, HandlesThatAreGone) {
  const std::string moved = "rs, ag = split(total) body, gather = reorder(ag, [drop, out]) ";
  expect_step_refused(kTail, moved + "dead(ag)",
                      {"`ag` is gone: nobody reads it since", "reorder(ag"});
  expect_step_refused(kTail, moved + "fuse(rs, drop)",
                      {"`drop` is gone", "moved it to the slices, where it is `drop'`"});
  expect_step_refused(kTail, moved + "split(body)", {"`body` is a body of 2 operations"});
  expect_step_refused(kTail, moved + "ar = fuse(rs, body, gather) split(ar)", {"`ar` is a group"});
}

TEST(StepsRefuse, WithTheNumberOfTheStep) {
  const Graph graph = parse_program(kTail);
  const Schedule schedule = parse_schedule(
      "schedule s for tail {\n rs, ag = split(total)\n reorder(ag, [out])\n}", "t.coco");
  fixture::expect_refused([&] { apply(graph, schedule); }, {"step 2, reorder(ag, [out]): "});
  try {
    apply(graph, schedule);
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::schedule);
    EXPECT_EQ(error.where().text(), "t.coco:3:2");
  }
}

}  // namespace
}  // namespace coconet
