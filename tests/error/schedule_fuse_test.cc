// What fuse and overlap refuse, and in which words.
#include <gtest/gtest.h>

#include "tests/error/schedule_refusals.h"

namespace coconet {
namespace {

using fixture::expect_step_refused;
using fixture::kAdam;
using fixture::kTail;

const std::string kMoved = "rs, ag = split(total) body, gather = reorder(ag, [drop, out]) ";
const std::string kAdamMoved =
    "rs, ag = split(total) body, gm, gp = reorder(ag, [m2, u, nu, p2]) as_slice(m) dead(gm) ";

std::string pointwise(const std::string& statements) {
  return "mesh world(tp) dim B, S, H, N program p(x: f32[B,S,H], y: f32[B,S,H], w: f32[H,H], "
         "g: f32[B,S,H] local, h: f32[B,S,H] local, v: f32[N], state m: f32[B,S,H]) {" +
         statements + "}";
}

TEST(FuseRefuses, AWholeAllReduce) {
  expect_step_refused(kTail, "fuse(total, drop)",
                      {"`total` is a whole all_reduce; split it first"});
  expect_step_refused(kTail, "red, all = split(total, reduce_broadcast) fuse(red, all)",
                      {"`red` is reduce", "reduce_scatter and all_gather"});
}

// Not that what reads the gathered value runs over another space.
TEST(FuseRefuses, AReaderOfAGatherOutside) {
  for (const char* fuse : {"fuse(rs, drop, out)", "fuse(rs, drop)"}) {
    expect_step_refused(kTail, std::string("rs, ag = split(total) ") + fuse,
                        {"drop reads `ag`, which is not in the group",
                         "a body reads what `rs` gives; reorder `ag` past it first"});
  }
}

// Of a list that each rank has of its own, it is another number on each peer.
TEST(FuseRefuses, AFoldOfAListInThePrologue) {
  const std::string lists =
      "mesh world(dp) dim N_i, N program p(g: f32[N_i] list local, s: f32[] list local, "
      "k: f32[] list, h: f32[N] local) {";
  const std::string returned = " total = all_reduce(x, +) return total}";
  expect_step_refused(lists + "w = across(s, +) x = g * w" + returned,
                      "rs, ag = split(total) fuse(w, x, rs)",
                      {"`w` is across", "must be pointwise"});
  expect_step_refused(lists + "w = across(g, +, size=[N]) x = h * w" + returned,
                      "rs, ag = split(total) fuse(w, x, rs)",
                      {"`w` is across", "must be pointwise"});
  expect_step_refused(lists + "q = g * 2 w = across(q, +, size=[N]) return w}", "fuse(q, w)",
                      {"two iteration spaces"});
}

// The kernel does nothing on the other ranks.
TEST(FuseRefuses, AScalarOfEveryRankWithWhatOneRankHolds) {
  const std::string rooted =
      "mesh world(tp) dim B, S, H, N program p(x: f32[B,S], s: f32[]) { v = root(x, 0) ";
  expect_step_refused(rooted + "out = v * s t = s * 2 return out, t}", "fuse(out, t)",
                      {"the output `t` reads `t` outside the group"});
  expect_step_refused(rooted + "out = v * s t = as_partial(s, +) return out, t}", "fuse(out, t)",
                      {"`t` runs over"});
}

// The members of a list have one kernel.
TEST(FuseRefuses, ListsOfScalarsThatArePlacedOtherwise) {
  const std::string lists = "mesh world(tp) dim N_i program p(x: f32[N_i] list) { n = norm(x) ";
  expect_step_refused(lists + "a = relu(n) b = as_partial(a, +) return b}", "fuse(a, b)",
                      {"`b` runs over", "two iteration spaces"});
  expect_step_refused(lists + "r = root(n, 0) a = n * 2 b = r * 3 return a, b}", "fuse(r, a, b)",
                      {"the output `a` reads `a` outside the group"});
  expect_step_refused(lists + "a = n * 2 y = x * a b = as_partial(a, +) return y, b}",
                      "fuse(a, y, b)", {"`b` runs over"});
}

// Its mask would go by the elements of the group.
TEST(FuseRefuses, ADropoutOfAnotherShape) {
  expect_step_refused(pointwise("d = dropout(sum(x, [2]), 0.5) y2 = y + d return y2"),
                      "fuse(d, y2)", {"`d` runs over [B,S,1]"});
  const std::string bias = "mesh world(tp) dim B, H program p(b: f32[H], g: f32[B,H] local) {";
  expect_step_refused(bias + "d = dropout(b, 0.5) y = g + d return y}", "fuse(d, y)",
                      {"`d` runs over [H]"});
  expect_step_refused(bias + "d = dropout(b, 0.5) t = all_reduce(g + d, +) return t}",
                      "rs, ag = split(t) fuse(d, rs)", {"`d` runs over [H]"});
}

// The reduction of a norm over rows is none that the program names.
TEST(FuseRefuses, AnAllReduceThatAReorderMade) {
  const std::string clip = R"(
mesh world(dp)
dim N, M
program clip(g: f32[N,M] local) {
  total = all_reduce(g, +)
  n = norm(total)
  out = total / n
  return out
}
)";
  const auto steps = [](const std::string& slice) {
    return "rs, ag = split(total, " + slice + ") body, gather = reorder(ag, [n, out]) ";
  };
  for (const char* last : {"fuse(rs, body, gather)", "split(n')"}) {
    expect_step_refused(clip, steps("(0)") + last, {"reorder over the slice (*)"});
  }
  const Graph graph = parse_program(clip);
  const Schedule flat =
      parse_schedule("schedule s for clip {" + steps("(*)") + "fuse(rs, body, gather) }");
  apply(graph, flat);
}

TEST(FuseRefuses, MovementOfData) {
  const std::string program =
      pointwise("a = x + y  b = transpose(a, [0,2,1])  c = b * 2  return c");
  expect_step_refused(program, "fuse(a, b)", {"`b` is a transpose", "a launch of its own"});
}

TEST(FuseRefuses, TheWrongOrder) {
  expect_step_refused(
      kTail, kMoved + "fuse(gather, body, rs)",
      {"wrong order: `gather` depends on", "prologue, reduce_scatter, body, gathers"});
  expect_step_refused(kTail, kMoved + "fuse(body, rs, gather)", {"wrong order", "depends on `rs`"});
  expect_step_refused(kTail, "rs, ag = split(total) fuse(rs, ag, drop)",
                      {"wrong order: '+' in drop reads `ag`, but gathers come last"});
}

TEST(FuseRefuses, AnOpenRegionOrACycle) {
  expect_step_refused(
      kTail, kMoved + "fuse(rs, out', gather)",
      {"the region is open: the path `rs` -> `drop'` -> `out'`", "fuse `drop'` as well"});
  expect_step_refused(pointwise("a = x + y b = matmul(a, w) c = a + b return c"), "fuse(a, c)",
                      {"the path `a` -> `b` -> `c`"});
  expect_step_refused(pointwise("a = x + y b = x * y c = a + y d = b + c e = b * b return d, e, c"),
                      "one = fuse(a, d) ", {"`c`"});
  // Two groups that would each have to run before the other.
  expect_step_refused(pointwise("a = x + y b = x * y c = a * x d = b * x return c, d"),
                      "one = fuse(a, d) fuse(b, c)", {"a cycle with another group"});
}

TEST(FuseRefuses, UseAfterUpdate) {
  // `late` reads the old m after the group, which would overwrite it.
  expect_step_refused(
      pointwise("a = x + y m2 = update(m, a) b = matmul(a, w) late = b + m return late"),
      "fuse(a, m2)", {"use after update: `late` reads the old value of `m`", "leave `m2` out"});
}

TEST(FuseRefuses, OtherIterationSpaces) {
  expect_step_refused(pointwise("a = x + y b = v + v return a, b"), "fuse(a, b)",
                      {"two iteration spaces: `b` runs over [N], the others over [B,S,H]"});
  expect_step_refused(pointwise("a = sum(x, [2]) b = sum(x, [1, 2]) c = x + a + b return c"),
                      "fuse(a, b, c)", {"`b` reduces other dims than the last one alone"});
  expect_step_refused(pointwise("a = sum(x, [1]) c = x + a return c"), "fuse(a, c)",
                      {"only reductions of rows, over the last dim, fuse"});
  expect_step_refused(kTail, kMoved + "fuse(rs, body, gather, w)", {"`w` is an input"});
  expect_step_refused(pointwise("t = all_reduce(g, +) u = shard(x, (0)) z = u + u return t, z"),
                      "rs, ag = split(t, (1)) fuse(rs, z)",
                      {"`z` runs over [B,S,H] sliced(0)", "sliced as its reduce_scatter is"});
  expect_step_refused(pointwise("u = shard(x, (0)) w2 = shard(x, (1)) a = all_gather(u) "
                                "z = w2 + w2 return z, a"),
                      "fuse(u, z, a)", {"as the operand of its gather is"});
}

// A kernel stores elements of its space and one a row; it computes the rest, but keeps none of it.
TEST(FuseRefuses, BroadcastValuesThatAreReadOutside) {
  const std::string program = R"(
mesh world(tp)
dim B, S, H
program p(x: f32[B,S,H], b: f32[H], c: f32[B,1,1], g: f32[1], e: f32[1]) {
  d = b * 2
  y = x + d
  f = c + 1
  z = y * f
  n = layer_norm(c, g, e, 0.001)
  u = y + n
  return y, z, u RESULT
}
)";
  const auto returning = [&](const std::string& result) {
    std::string text = program;
    return text.replace(text.find(" RESULT"), 7, result);
  };
  apply(parse_program(returning("")), parse_schedule("schedule s for p { fuse(d, y) }"));
  apply(parse_program(returning("")), parse_schedule("schedule s for p { fuse(f, z) }"));
  expect_step_refused(returning(", d"), "fuse(d, y)",
                      {"the output `d` reads `d` outside the group", "runs over [B,S,H]",
                       "elements and rows of that only", "leave `d` out"});
  expect_step_refused(returning(", f"), "fuse(f, z)", {"the output `f` reads `f` outside"});
  expect_step_refused(returning(""), "fuse(n, u)", {"two iteration spaces: `c`"});
}

TEST(FuseRefuses, BlocksAndRowsInOnePass) {
  const std::string program = R"(
mesh world(dp)
dim N, H
program p(g: f32[N,H] local, b: f32[H]) {
  t = all_reduce(g, +)
  shifted = t + b
  size = norm(shifted)
  twice = b * 2
  out = t / size + twice
  return out, shifted
}
)";
  expect_step_refused(program,
                      "rs, ag = split(t, (*)) body, gs, go = reorder(ag, [shifted, size, out]) "
                      "fuse(rs, body, gs, go)",
                      {"folds blocks of the flat index", "takes `b`, which is f32[H], row by row",
                       "blocks or over rows"});
}

TEST(FuseRefuses, WhatNeedsTheWholeTensorOrIsALaunchOfItsOwn) {
  expect_step_refused(kTail, kMoved + "fuse(layer, rs)",
                      {"`layer` is matmul", "must be pointwise"});
  expect_step_refused(pointwise("a = x + y b = matmul(a, w) return b"), "fuse(a, b)",
                      {"`b` is a matmul, a launch of its own", "overlap"});
  expect_step_refused(pointwise("a = x + y b = norm(a) return b"), "fuse(a, b)",
                      {"`b` needs the whole tensor"});
  expect_step_refused(kAdam, kAdamMoved + "fuse(u', nu')",
                      {"needs the blocks of every rank", "add its reduce_scatter or gather"});
}

TEST(FuseRefuses, WhatFollowsASend) {
  const std::string stages =
      "mesh world(pp, tp) dim N, H program p(g: f32[N,H] local@pp partial(+)@tp, b: f32[H]) {"
      "t = all_reduce(g, +)@tp y = t + b z = shift(y, pp, 1) u = z * 2 return u, y }";
  const std::string moved = "rs, ag = split(t, (0)) body, out, gy = reorder(ag, [y, z, u]) ";
  expect_step_refused(stages, moved + "fuse(rs, body)",
                      {"wrong order: `u'` reads `z'`, but gathers come last"});
  expect_step_refused(stages, "fuse(y, z, u)", {"`u` reads `z`"});
  expect_step_refused(stages, "fuse(z)", {"`z` sends `y`, which is not in the group"});
  const Graph graph = parse_program(stages);
  apply(graph, parse_schedule("schedule s for p {" + moved + "fuse(rs, y', z') }"));
  apply(graph, parse_schedule("schedule s for p { fuse(y, z) }"));
}

TEST(FuseRefuses, WhatAnExchangeDoesNotReadByElements) {
  const std::string experts =
      "mesh world(tp) dim N, H program p(x: f32[N,H] sliced(0), r: f32[N,H] sliced(1)) {"
      "y = x * 2 z = all_to_all(y, 0, 1) u = z + r v = r * 2 return u, v }";
  expect_step_refused(experts, "fuse(y, z, u)", {"`u` reads `z`, but gathers come last"});
  expect_step_refused(experts, "fuse(v, y, z)",
                      {"`v` runs over [N,H] sliced(1)", "what `z` sends over [N,H] sliced(0)",
                       "placed as the operand of its send is"});
  const Graph graph = parse_program(experts);
  apply(graph, parse_schedule("schedule s for p { fuse(y, z) }"));
}

TEST(FuseRefuses, TwoReduceScatters) {
  expect_step_refused(pointwise("s = all_reduce(g, +) t = all_reduce(h, +) u = s + t return u"),
                      "a, ag = split(s, (0)) b, bg = split(t, (0)) fuse(a, b)",
                      {"two reduce_scatters, `a` and `b`"});
}

TEST(FuseRefuses, GathersOfOtherAxes) {
  expect_step_refused(
      "mesh world(dp, tp) dim N, H program p(g: f32[N,H] local@dp sliced(1)@tp) {"
      "t = all_reduce(g, +)@dp u = all_gather(t)@tp v = u + u return v }",
      "rs, ag = split(t, (0)) body, back = reorder(ag, [u]) fuse(rs, body)",
      {"gathers over other mesh axes than `rs`"});
}

TEST(FuseRefuses, APrologueThatIsReadElsewhere) {
  expect_step_refused(pointwise("a = g + g t = all_reduce(a, +) z = a * a return t, z"),
                      "rs, ag = split(t, (0)) fuse(a, rs)",
                      {"reads `a` outside the group", "never stored"});
}

TEST(FuseRefuses, PartsOutsideTheGroup) {
  expect_step_refused(kTail, kMoved + "fuse(rs, drop', gather)",
                      {"`gather` gathers `out'`, which is not in the group"});
  expect_step_refused(pointwise("a = x + y m2 = update(m, a) return m2"), "fuse(m2)",
                      {"`m2` stores `a`, which is not in the group"});
  expect_step_refused(kTail, kMoved + "ar = fuse(rs, body) fuse(body, gather)",
                      {"is in the group `ar` already", "give all parts to one fuse"});
  expect_step_refused(kTail, kMoved + "ar = fuse(rs, body) fuse(ar, gather)",
                      {"`ar` is a group already"});
  expect_step_refused(kTail, kMoved + "fuse(rs, body, body)", {"is given twice"});
  expect_step_refused(kTail, "fuse()", {"it takes"});
  expect_step_refused(kTail, "fuse((0))", {"must be a name or a list of names"});
  expect_step_refused(
      "mesh world(tp) program p(scalar a: f32, scalar b: f32) { c = a + b d = c * b return d }",
      "fuse(c, d)", {"all of it is scalar"});
}

TEST(OverlapRefuses, ChunksOfAMatmulThatAreNotRows) {
  expect_step_refused(kTail, "rs, ag = split(total, (*)) overlap(layer, rs)",
                      {"`layer` is a matmul, which makes chunks of rows", "cut along (*)",
                       "split with a row slice (0..1) instead"});
  expect_step_refused(kTail, "rs, ag = split(total, (2)) overlap(layer, rs)",
                      {"split with a row slice (0..1) instead"});
}

TEST(OverlapRefuses, ANormInTheMiddle) {
  expect_step_refused(kAdam, kAdamMoved + "ar = fuse(rs, body, gp) grad = fuse(ar)", {"group"});
  expect_step_refused(kAdam, kAdamMoved + "overlap(u', nu', p2')",
                      {"needs all chunks, so it may only come last"});
  expect_step_refused(pointwise("a = g + g t = all_reduce(a, +) z = t / norm(t) return z"),
                      "rs, ag = split(t, (*)) body, gz = reorder(ag, [z]) "
                      "ar = fuse(rs, body, gz) overlap(a, ar)",
                      {"'block_squares' in z' needs all chunks, so it may only come last"});
}

TEST(OverlapRefuses, WhatIsNoChain) {
  expect_step_refused(kTail, kMoved + "overlap(rs, layer)", {"wrong order: `rs` reads `layer`"});
  expect_step_refused(kTail, kMoved + "overlap(layer, gather)",
                      {"`gather` reads nothing of `layer`"});
  expect_step_refused(kTail, kMoved + "overlap(layer)", {"it takes 2"});
  expect_step_refused(kTail, kMoved + "overlap(layer, layer)", {"is given twice"});
  expect_step_refused(kTail, kMoved + "overlap(x, layer)", {"`x` is an input"});
  expect_step_refused(kTail, kMoved + "overlap(rs, body)",
                      {"`body` is a body of several operations; fuse it"});
  expect_step_refused(kTail, kMoved + "overlap(layer, (0))", {"operations and groups by name"});
}

TEST(OverlapRefuses, WhatIsGroupedOrNotClosed) {
  expect_step_refused(kTail, kMoved + "ar = fuse(rs, body, gather) overlap(layer, rs)",
                      {"`rs` is in the group `ar`; overlap the group"});
  expect_step_refused(
      kTail, kMoved + "ar = fuse(rs, body, gather) both = overlap(layer, ar) overlap(layer, ar)",
      {"`layer` is in the group `both`"});
  expect_step_refused(pointwise("a = matmul(x, w) b = a * y c = a + b return c"), "overlap(a, c)",
                      {"not closed", "`a` -> `b` -> `c`"});
}

TEST(OverlapRefuses, OtherSlicesAndRoots) {
  expect_step_refused(kTail, "red, all = split(total, reduce_broadcast) overlap(layer, red)",
                      {"`red` is reduce, which has no slices"});
  expect_step_refused(
      "mesh world(tp) dim N program p(x: f32[N,N] sliced(0)) {"
      "a = all_gather(x) b = shard(a, (1)) c = all_gather(b) return c }",
      "overlap(a, b, c)", {"`b` is over slices (1), but the chunks are cut along (0)"});
  expect_step_refused(pointwise("a = matmul(w, w) b = matmul(x, a) return b"), "overlap(a, b)",
                      {"matmul"});
}

TEST(OverlapRefuses, WhatReadsAnExchange) {
  const std::string experts =
      "mesh world(tp) dim N, H program p(x: f32[N,H] sliced(0), r: f32[N,H] sliced(1)) {"
      "y = x * 2 z = all_to_all(y, 0, 1) u = z + r return u }";
  expect_step_refused(experts, "overlap(y, z, u)",
                      {"`z` needs all chunks, so it may only come last, but `u` reads it"});
  expect_step_refused(experts, "overlap(z, u)", {"`z` needs all chunks"});
  const Graph graph = parse_program(experts);
  apply(graph, parse_schedule("schedule s for p { overlap(y, z) }"));
}

}  // namespace
}  // namespace coconet
