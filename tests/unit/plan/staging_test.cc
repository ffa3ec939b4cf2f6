// Buffers in the caller's memory: what is copied, where, in which chunks.
#include "coconet/plan/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coconet/plan/from_schedule.h"
#include "coconet/plan/in_place.h"
#include "coconet/plan/verify.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"
#include "tests/support/planned.h"

namespace coconet::plan {
namespace {

using fixture::expect_refused;
using testing::ElementsAre;
using testing::HasSubstr;

Graph example(const std::string& name, const std::string& schedule) {
  const File file = read_file("examples/" + name + ".coco");
  const Graph& graph = file.program();
  if (schedule.empty()) return graph;
  return apply(graph, file.schedule(graph.header().program, schedule)).graph;
}

Plan staged(const Graph& graph) { return from_schedule(graph, {.staged = names_to_stage(graph)}); }

BufferId buffer_named(const Plan& plan, const std::string& name) {
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    if (plan.buffers[b].name == name) return {b};
  }
  return {};
}

std::vector<std::string> launches(const Plan& plan) {
  std::vector<std::string> out;
  for (const Launch& launch : plan.launches) {
    out.push_back(launch.name + (launch.overlap < 0 ? "" : ", in chunks"));
  }
  return out;
}

// Peers read g and write p; m and v are their rank's alone, and p is read there by its own.
TEST(Staging, CopiesWhatPeersTouch) {
  const Plan plan = staged(example("adam", "sharded"));
  EXPECT_THAT(launches(plan),
              ElementsAre("copy g in, in chunks", "fusion, in chunks", "copy p out, in chunks"));
  for (const char* name : {"g", "p", "m", "v"}) {
    const Buffer& buffer = plan.buffer(buffer_named(plan, name));
    EXPECT_TRUE(buffer.of_caller && !buffer.symmetric) << name;
  }
  EXPECT_TRUE(plan.buffer(buffer_named(plan, "g.in")).symmetric);
  EXPECT_TRUE(plan.buffer(buffer_named(plan, "p.out")).symmetric);
  EXPECT_FALSE(buffer_named(plan, "p.in").valid());
  EXPECT_FALSE(plan.buffer(buffer_named(plan, "lr")).of_caller);
  EXPECT_TRUE(plan.notes.empty());
}

// What no peer touches is used in place.
TEST(Staging, CopiesNothingElse) {
  const Graph graph = example("adam", "sharded");
  const Plan plan = from_schedule(graph, {.staged = {"m", "v"}});
  EXPECT_EQ(plan.launches.size(), from_schedule(graph).launches.size());
  EXPECT_TRUE(plan.buffer(buffer_named(plan, "m")).of_caller);
  EXPECT_FALSE(plan.buffer(buffer_named(plan, "g")).of_caller);
}

// A norm over all of it needs whole copies, and the notes say so.
TEST(Staging, CopiesWholeWhereChunksCannotBeCut) {
  const Plan plan = staged(example("lamb", "sharded"));
  EXPECT_TRUE(plan.overlaps.empty());
  ASSERT_EQ(plan.notes.size(), 2u);
  EXPECT_THAT(plan.notes[0], HasSubstr("copy g in: whole, not chunk by chunk, as what reads it"));
  EXPECT_THAT(plan.notes[1], HasSubstr("copy p out: whole, not chunk by chunk, as what writes"));
}

// In the group of the schedule, whose number of chunks stays the first.
TEST(Staging, JoinsAnOverlappedGroup) {
  const Plan plan = staged(example("attention", "overlapped"));
  EXPECT_THAT(launches(plan),
              ElementsAre("layer, in chunks", "ar, in chunks", "copy gather out, in chunks"));
  ASSERT_EQ(plan.overlaps.size(), 1u);
  EXPECT_FALSE(plan.overlaps[0].staging);
  EXPECT_EQ(plan.overlaps[0].knob, 0);
}

TEST(Staging, AGroupOfItsOwnHasTheLastNumberOfChunks) {
  const Graph graph = parse_program(
      "mesh world(tp)\ndim M, N\n"
      "program two(g: f32[N] local, x: f32[M,N] sliced(1), w: f32[N,M] sliced(0)) {\n"
      "  s = all_reduce(g, +)\n  layer = matmul(x, w)\n  total = all_reduce(layer, +)\n"
      "  return s, total\n}\n");
  const Graph both =
      apply(graph, parse_schedule("schedule o for two { rs, ag = split(total)\n ar = fuse(rs, ag)\n"
                                  " overlap(layer, ar) }"))
          .graph;
  const Plan plan = staged(both);
  ASSERT_EQ(plan.overlaps.size(), 2u);
  EXPECT_EQ(plan.overlaps[0].name, "staging of s");
  EXPECT_EQ(plan.overlaps[0].knob, 1);
  EXPECT_EQ(plan.overlaps[1].knob, 0);
  const BoundPlan bound = bind(plan, {{"M", 4}, {"N", 1 << 20}}, MeshSizes{{2}}, {2});
  EXPECT_EQ(bound.overlaps[1].chunks, 2);
  EXPECT_EQ(bound.overlaps[0].chunks, 16);  // of 256 KiB
}

TEST(Staging, RefusesNamesThatAreNoTensorsOfTheProgram) {
  const Graph graph = example("adam", "");
  expect_refused([&] { from_schedule(graph, {.staged = {"q"}}); },
                 {"staged: the program has no input, state or output q", "g, p, m, v, p2"});
  const Graph list = example("clip", "");
  expect_refused([&] { from_schedule(list, {.staged = {"g.0"}}); },
                 {"staged: g.0 is a member of the list g", "stage the list"});
}

// Names of one memory: an updated state's new value is no other; an old value that is returned is.
TEST(Staging, NamesMemoryOnce) {
  EXPECT_THAT(names_to_stage(example("adam", "")), ElementsAre("g", "p", "m", "v"));
  const Graph graph = parse_program(
      "mesh world(dp)\ndim N\nprogram p(x: f32[N], state m: f32[N]) {\n"
      "  y = x + m\n  old = m\n  same = x\n  m2 = update(m, y)\n"
      "  return y, old, same, m2\n}\n");
  EXPECT_THAT(names_to_stage(graph), ElementsAre("x", "m", "y", "old"));
}

TEST(Staging, VerifiesWhatExamplesMake) {
  for (const char* name : {"sgd", "adam", "lamb", "clip", "attention", "mlp_norm", "block", "moe",
                           "momentum", "pipeline"}) {
    const File file = read_file(std::string("examples/") + name + ".coco");
    for (const Schedule& schedule : file.schedules) {
      SCOPED_TRACE(std::string(name) + ", " + schedule.name);
      const Plan plan = staged(example(name, schedule.name));
      EXPECT_NO_THROW(EXPECT_GT(verify_small(plan).verified, 0));
    }
  }
}

std::string words_of(const Plan& plan, const std::vector<std::int64_t>& chunks = {3}) {
  try {
    verify(plan);
    const BoundPlan bound = bind(plan, {{"N", 3000}}, MeshSizes{{2}}, chunks);
    verify_order(bound);
    verify_contributions(bound);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(Staging, TheVerifierFindsFaults) {
  const Plan fine = staged(example("adam", "sharded"));
  EXPECT_EQ(words_of(fine), "");
  const auto kernel = [](Plan& plan, int launch) -> Kernel& {
    return std::get<Kernel>(plan.launches[launch].work);
  };
  Plan reaches = fine;  // the caller's memory of a peer
  kernel(reaches, 1).stores.back().buffer = buffer_named(fine, "p");
  EXPECT_THAT(words_of(reaches), HasSubstr("p is symmetric"));
  reaches.buffers[buffer_named(fine, "p").index].symmetric = true;
  kernel(reaches, 2).statements[0].action = Load{buffer_named(fine, "p")};
  EXPECT_THAT(words_of(reaches), HasSubstr("is in the caller's memory and no peer reaches it"));
  Plan without = fine;  // the copy of what it holds already
  kernel(without, 0).statements[0].action = Load{buffer_named(fine, "g.in")};
  EXPECT_THAT(words_of(without), HasSubstr("g.in is written before"));
  Plan early = fine;  // before peers have written
  early.launches[2].waits.clear();
  EXPECT_THAT(words_of(early), HasSubstr("no wait orders"));
  Plan unnamed = fine;
  unnamed.buffers[buffer_named(fine, "g.in").index].of_caller = true;
  unnamed.buffers[buffer_named(fine, "g.in").index].symmetric = false;
  EXPECT_NE(words_of(unnamed), "");
}

// y may take x's place, elementwise and chunk by chunk; not where x is read again, or is a result.
TEST(Staging, SaysWhatMayBeOneMemory) {
  const auto may = [](const std::string& statements, const std::string& returned) {
    const Graph graph = parse_program(
        "mesh world(dp)\ndim N\nprogram p(x: f32[N] local, state m: f32[N] local) {\n" +
        statements + "  return " + returned + "\n}\n");
    const Plan plan = staged(graph);
    return may_share_memory(plan, plan.parameter("x"), plan.outputs[0].buffer);
  };
  EXPECT_TRUE(may("  y = all_reduce(x, +)\n", "y"));
  EXPECT_TRUE(may("  y = x + m\n", "y"));
  EXPECT_TRUE(may("  s = all_reduce(x, +)\n  y = s - m\n", "y"));
  EXPECT_FALSE(may("  y = x + m\n  z = x * x\n", "y, z"));
  EXPECT_FALSE(may("  y = all_gather(shard(all_reduce(x, +), (0)))\n  z = x * x\n", "y, z"));
  EXPECT_FALSE(may("  y = x + m\n", "y, x"));
  EXPECT_FALSE(may("  m2 = update(m, x)\n", "m2"));
}

}  // namespace
}  // namespace coconet::plan
