// What reorder refuses, and in which words.
#include <gtest/gtest.h>

#include "tests/error/schedule_refusals.h"

namespace coconet {
namespace {

using fixture::expect_step_refused;
using fixture::kAdam;
using fixture::kTail;

const std::string kSplit = "rs, ag = split(total) ";

std::string after_reduce(const std::string& statements) {
  return "mesh world(tp) dim N, H program p(g: f32[N,H] local, w: f32[H,H], c: f32[N,H]) {"
         "total = all_reduce(g, +) " +
         statements + "}";
}

TEST(ReorderRefuses, WhatIsNoGather) {
  expect_step_refused(kTail, "reorder(total, [drop])", {"`total` is all_reduce: split it first"});
  expect_step_refused(kTail, kSplit + "reorder(rs, [drop])", {"`rs` is reduce_scatter"});
  expect_step_refused(kTail, kSplit + "reorder(ag)", {"found 1 argument; it takes 2"});
  expect_step_refused(kTail, kSplit + "reorder(ag, (0))", {"must be a name or a list of names"});
}

TEST(ReorderRefuses, AnOpenRegion) {
  expect_step_refused(
      kTail, kSplit + "reorder(ag, [out])",
      {"none of the operations reads `ag`", "list what stands between as well: `drop`"});
  expect_step_refused(
      after_reduce("a = total * c b = a + c d = b + total return d"),
      "rs, ag = split(total, (0)) reorder(ag, [a, d])",
      {"the region is open: the path `a` -> `b` -> `d` leaves it", "list `b` as well"});
  expect_step_refused(after_reduce("a = total * c d = a + total return d"),
                      "rs, ag = split(total, (0)) reorder(ag, [d])",
                      {"the path `ag` -> `a` -> `d`", "list `a`"});
}

TEST(ReorderRefuses, WhatIsNoOperation) {
  expect_step_refused(kTail, kSplit + "reorder(ag, [b, drop])", {"`b` is an input"});
  expect_step_refused(kTail, kSplit + "reorder(ag, [drop, drop])", {"`drop` is listed twice"});
  expect_step_refused(kTail, kSplit + "reorder(ag, [ag, drop])", {"`ag` is the gather itself"});
  expect_step_refused(kTail, kSplit + "k = fuse(drop, out) reorder(ag, [drop, out])",
                      {"`drop` is in the group `k`"});
  expect_step_refused(kTail, kSplit + "k = fuse(drop, out) reorder(ag, [k])",
                      {"`k` is a group already"});
}

TEST(ReorderRefuses, WhatInferenceRefusesOnSlices) {
  // The rows of one operand meet the rows of the other where its columns are contracted.
  expect_step_refused(
      after_reduce("a = total * c y = matmul(w, w) z = a + c q = matmul(a, w) return q, y"),
      "rs, ag = split(total, (*)) reorder(ag, [a, q])",
      {"`q` cannot run before `ag`", "what does not depend on it may move: `a`"});
  expect_step_refused(
      "mesh world(tp) dim N program p(g: f32[N,N] local) {"
      "total = all_reduce(g, +) y = matmul(total, total) return y }",
      "rs, ag = split(total, (0)) reorder(ag, [y])",
      {"`y` cannot run before `ag`", "it has to stay behind the gather"});
}

TEST(ReorderRefuses, ANewCollective) {
  expect_step_refused(after_reduce("y = matmul(total, w) return y"),
                      "rs, ag = split(total, (1)) reorder(ag, [y])",
                      {"`y`, run on what is f32[N,H] sliced(1)", "partial(+)", "a new all_reduce"});
  expect_step_refused(after_reduce("y = sum(total, [0]) return y"),
                      "rs, ag = split(total, (0)) reorder(ag, [y])", {"a new all_reduce"});
  expect_step_refused(after_reduce("y = mean(total, [0]) return y"),
                      "rs, ag = split(total, (0)) reorder(ag, [y])", {"a new all_reduce"});
}

// Inference says it of the members' slices.
TEST(ReorderRefuses, AFoldAcrossMembers) {
  expect_step_refused(
      "mesh world(dp) dim N_i, N program p(g: f32[N_i] list local) {"
      "total = all_reduce(g, +) y = across(total, +, size=[N]) return y }",
      "rs, ag = split(total) reorder(ag, [y])",
      {"`y` cannot run before `ag`", "on different ranks", "across(all_gather(x)"});
}

TEST(ReorderRefuses, GathersOfOtherAxes) {
  expect_step_refused(
      "mesh world(dp, tp) dim N program p(g: f32[N] sliced(0)@dp, h: f32[N] sliced(0)@tp) {"
      "a = all_gather(g) b = all_gather(h) y = a + b return y }",
      "reorder([a, b], [y])", {"gather over different mesh axes", "one after the other"});
  expect_step_refused(
      "mesh world(tp) dim N program p(g: f32[N] local) {"
      "a = broadcast(g, 0) y = a + a return y }",
      "reorder(a, [y])", {"broadcasts a local value"});
}

TEST(ReorderRefuses, AnUpdateAlone) {
  expect_step_refused(kAdam,
                      kSplit + "body, gm, gp = reorder(ag, [m2, u, nu, p2]) reorder(gm, [m2])",
                      {"nothing moves", "as_slice"});
}

}  // namespace
}  // namespace coconet
