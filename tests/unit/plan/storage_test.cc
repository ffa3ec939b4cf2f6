// Which updates are written in place.
#include "coconet/plan/storage.h"

#include <gtest/gtest.h>

#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"

namespace coconet::plan {
namespace {

Plan plan_of(const File& file, const std::string& schedule) {
  const Graph& program = file.program();
  return from_schedule(apply(program, file.schedule(program.header().program, schedule)).graph);
}

// The launches that store into the buffer of this name.
std::vector<int> writers_of(const Plan& plan, const std::string& name) {
  std::vector<int> out;
  for (int launch = 0; launch < static_cast<int>(plan.launches.size()); ++launch) {
    const Kernel* kernel = std::get_if<Kernel>(&plan.launches[launch].work);
    if (!kernel) continue;
    for (const Store& store : kernel->stores) {
      if (plan.buffer(store.buffer).name == name) out.push_back(launch);
    }
  }
  return out;
}

TEST(Storage, LambWritesParametersInItsSecondPass) {
  const File file = read_file("examples/lamb.coco");
  for (const char* schedule : {"sharded", "fused"}) {
    const Plan plan = plan_of(file, schedule);
    EXPECT_EQ(plan.launches.size(), 2u) << schedule << "\n" << print(plan);
    EXPECT_EQ(writers_of(plan, "p"), std::vector<int>{1}) << schedule << "\n" << print(plan);
  }
}

// e is ready in the first pass, but the second still reads the old p.
TEST(Storage, GatheredValueWaitsForReadersInLaterPasses) {
  const File file = parse_file(R"(
mesh world(dp)
dim N
program late(g: f32[N] local, p: f32[N], q: f32[N]) {
  total = all_reduce(g, +)
  e  = p - total
  n  = norm(total)
  f  = q - n * p
  p2 = update(p, e)
  q2 = update(q, f)
  return p2, q2
}
schedule fused for late {
  rs, ag = split(total, (*))
  body, gp, gq = reorder(ag, [e, n, f])
  fuse(rs, body, gp, gq)
})");
  const Plan plan = plan_of(file, "fused");
  ASSERT_EQ(plan.launches.size(), 3u) << print(plan);
  EXPECT_EQ(writers_of(plan, "p"), std::vector<int>{2}) << print(plan);
  EXPECT_EQ(writers_of(plan, "q"), std::vector<int>{1}) << print(plan);
}

// A scalar is loaded once a pass, before the elements.
TEST(Storage, ScalarStateIsCopiedAfterItsReaders) {
  const File file = parse_file(R"(
mesh world(dp)
dim N
program count(x: f32[N], state s: f32[]) {
  y  = x * s
  s2 = update(s, s + 1.0)
  return y, s2
})");
  const Plan plan = from_schedule(file.program());
  const std::vector<int> writers = writers_of(plan, "s");
  ASSERT_EQ(writers.size(), 1u) << print(plan);
  EXPECT_EQ(writers[0] + 1, static_cast<int>(plan.launches.size())) << print(plan);
}

}  // namespace
}  // namespace coconet::plan
