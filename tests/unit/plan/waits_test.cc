// What plans must wait for, and which temporaries share memory.
#include <gtest/gtest.h>

#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"

namespace coconet::plan {
namespace {

Plan plan_of(const std::string& program, const std::string& steps = "") {
  const Graph graph = parse_program(program);
  const Schedule schedule =
      parse_schedule("schedule s for " + graph.header().program + " {" + steps + "}");
  return from_schedule(apply(graph, schedule).graph);
}

const Launch& launch_named(const Plan& plan, const std::string& name) {
  for (const Launch& launch : plan.launches) {
    if (launch.name == name) return launch;
  }
  throw InternalError("no launch " + name);
}

const Buffer& buffer_named(const Plan& plan, const std::string& name) {
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.name == name) return buffer;
  }
  throw InternalError("no buffer " + name);
}

const char* const kSum = R"(
mesh world(dp)
dim N
program sum(g: f32[N] local, p: f32[N], scalar lr: f32 = 0.1) {
  scaled = g * lr
  total = all_reduce(scaled, +)
  p2 = update(p, p - total)
  return p2
}
)";

TEST(Waits, AFoldWaitsForThePeersThatMakeWhatItReads) {
  const Plan plan = plan_of(kSum);
  const Launch& total = launch_named(plan, "total");
  ASSERT_EQ(total.waits.size(), 1u);
  EXPECT_EQ(plan.launch(total.waits[0].on).name, "scaled");
  EXPECT_EQ(total.waits[0].axes, AxisList{0});
  EXPECT_FALSE(total.waits[0].same_chunk);
}

TEST(Waits, AReaderOfWhatPeersWriteWaitsForThem) {
  const Plan plan = plan_of(kSum);
  for (const Launch& launch : plan.launches) {
    if (launch.name.find("p2") == std::string::npos) continue;
    ASSERT_EQ(launch.waits.size(), 1u) << launch.name;
    EXPECT_EQ(plan.launch(launch.waits[0].on).name, "total");
  }
  ASSERT_EQ(plan.exit_waits.size(), 1u);
  EXPECT_EQ(plan.launch(plan.exit_waits[0].on).name, "total");
}

TEST(Waits, WhatNoPeerTouchesIsPrivateAndWaitsForNobody) {
  const Plan plan = plan_of(kSum);
  EXPECT_TRUE(launch_named(plan, "scaled").waits.empty());
  EXPECT_FALSE(buffer_named(plan, "p").symmetric);
  EXPECT_TRUE(buffer_named(plan, "scaled").symmetric);
  EXPECT_TRUE(buffer_named(plan, "total").symmetric);
}

TEST(Storage, AnUpdateIsWrittenInPlace) {
  const Plan plan = plan_of(kSum);
  EXPECT_EQ(plan.outputs[0].buffer, plan.parameter("p"));
}

TEST(Storage, AnUpdateWhoseOldValueIsReadLaterIsCopied) {
  const Plan plan = plan_of(R"(
mesh world(dp)
dim N
program late(p: f32[N]) {
  q = p * 2.0
  p2 = update(p, q)
  r = p + q
  return p2, r
}
)");
  // q has a buffer of its own: r reads the old p after q is made.
  const Launch& r = launch_named(plan, "r");
  const Launch& copy = launch_named(plan, "p2");
  EXPECT_LT(&r, &copy);
}

TEST(Storage, AnOutputThatIsTheOldValueIsSavedFirst) {
  const Plan plan = plan_of(R"(
mesh world(dp)
dim N
program old(p: f32[N]) {
  q = update(p, p + 1.0)
  return p, q
}
)");
  EXPECT_EQ(plan.launches.front().name, "save p");
  EXPECT_FALSE(plan.outputs[0].buffer == plan.parameter("p"));
}

TEST(Memory, TemporariesWhoseLifetimesDoNotMeetShareASlot) {
  const Plan plan = plan_of(R"(
mesh world(dp)
dim N
program chain(x: f32[N]) {
  a = x + 1.0
  b = a * 2.0
  c = b - 3.0
  d = c * c
  return d
}
)");
  EXPECT_EQ(buffer_named(plan, "a").slot, buffer_named(plan, "c").slot);
  EXPECT_NE(buffer_named(plan, "a").slot, buffer_named(plan, "b").slot);
  EXPECT_NE(buffer_named(plan, "d").slot, buffer_named(plan, "b").slot);  // an output is kept
}

TEST(Overlap, TheConsumerLagsAndWaitsForTheSameChunk) {
  const Plan plan = plan_of(R"(
mesh world(tp)
dim B, S, H
program tail(x: f32[B,S,H] sliced(2), w: f32[H,H] sliced(0), b: f32[H]) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  out = total + b
  return out
}
)",
                            R"(
  rs, ag = split(total)
  body, gather = reorder(ag, [out])
  ar = fuse(rs, body, gather)
  overlap(layer, ar)
)");
  ASSERT_EQ(plan.overlaps.size(), 1u);
  const Launch& ar = launch_named(plan, "ar");
  EXPECT_EQ(ar.lag, 1);
  ASSERT_EQ(ar.waits.size(), 1u);
  EXPECT_TRUE(ar.waits[0].same_chunk);
  EXPECT_EQ(plan.launch(ar.waits[0].on).name, "layer");
}

const char* const kWhole = R"(
mesh world(dp)
dim N, M
program whole(g: f16[N,M] local, m: f32[N,M]) {
  total = all_reduce(cast(g, f32), +)
  m2 = m * 0.9 + total
  size = norm(m2)
  return m2, size
}
)";

TEST(Overlap, AnAllReduceThatIsNotSplitIsCutByRowsAsItsGroup) {
  const Plan plan = plan_of(kWhole, "overlap(total, m2)");
  ASSERT_EQ(plan.overlaps.size(), 1u);
  const auto& kernel = std::get<Kernel>(launch_named(plan, "total").work);
  EXPECT_EQ(kernel.space.layout.slice(0), Slice::dim(0));
  EXPECT_EQ(plan.launch(plan.overlaps[0].last).name, "m2");
}

TEST(Overlap, WhatNeedsAllRowsRunsAfterTheGroup) {
  const Plan plan = plan_of(kWhole, "overlap(m2, size)");
  for (const Launch& launch : plan.launches) {
    if (launch.name.find("size") != std::string::npos) {
      EXPECT_EQ(launch.overlap, -1) << launch.name;
    }
  }
}

TEST(Overlap, AFlatSliceIsCutByItsBlocks) {
  const Plan plan = plan_of(kWhole, "rs, ag = split(total, (*)) overlap(rs, ag)");
  ASSERT_EQ(plan.overlaps.size(), 1u);
  EXPECT_TRUE(plan.overlaps[0].slice.flat);
}

}  // namespace
}  // namespace coconet::plan
