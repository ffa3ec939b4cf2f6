// Planted faults, each named by the verifier.
#include "coconet/plan/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/planned.h"

namespace coconet::plan {
namespace {

std::string fault(const Plan& plan) {
  try {
    verify(plan);
    return "";
  } catch (const InternalError& error) {
    return error.what();
  }
}

Plan attention(const std::string& steps = kAttentionOverlapped) {
  return planned(kAttention, steps, {{"B", 1}, {"S", 4}, {"H", 2}}, {2}).plan;
}

Plan norm_step() { return planned(kNormStep, kNormStepSharded, {{"N", 10}}, {2}).plan; }

Kernel& kernel_of(Plan& plan, int launch) {
  return std::get<Kernel>(plan.launches.at(launch).work);
}

TEST(VerifyPlan, AcceptsWhatIsMade) {
  for (const char* steps : {"", kAttentionOverlapped}) EXPECT_EQ(fault(attention(steps)), "");
  EXPECT_EQ(fault(norm_step()), "");
}

TEST(VerifyPlan, LaunchesInTheWrongOrder) {
  Plan plan = attention("");
  plan.launches[1].waits.clear();
  std::swap(plan.launches[0], plan.launches[1]);
  EXPECT_THAT(fault(plan), testing::HasSubstr("launch 0 (total): does not hold: layer is written"));
}

TEST(VerifyPlan, WaitsOnWhatComesLater) {
  Plan plan = attention("");
  plan.launches[0].waits.push_back({LaunchId{1}, {0}, false});
  EXPECT_THAT(fault(plan), testing::HasSubstr("a wait is on an earlier launch"));
}

TEST(VerifyPlan, ChunksWaitForChunks) {
  Plan plan = attention();
  ASSERT_FALSE(plan.launches[1].waits.empty());
  plan.launches[1].waits[0].same_chunk = false;
  EXPECT_THAT(fault(plan), testing::HasSubstr("chunks wait for chunks"));
}

TEST(VerifyPlan, ValuesBeforeTheirUse) {
  Plan plan = attention("");
  Kernel& kernel = kernel_of(plan, 2);
  kernel.statements.back().inputs[0] = ValueId{static_cast<int>(kernel.statements.size()) - 1};
  EXPECT_THAT(fault(plan), testing::HasSubstr("reads values before it"));
}

TEST(VerifyPlan, ValuesThatDoNotExist) {
  Plan plan = attention("");
  kernel_of(plan, 1).stores[0].value = ValueId{99};
  EXPECT_THAT(fault(plan), testing::HasSubstr("a stored value exists"));
}

TEST(VerifyPlan, StoresOfAnotherDtype) {
  Plan plan = attention("");
  Kernel& kernel = kernel_of(plan, 1);
  kernel.statements[kernel.stores[0].value.index].dtype = f16;
  EXPECT_THAT(fault(plan), testing::HasSubstr("total gets values of its dtype"));
}

TEST(VerifyPlan, APeersValueOutsideItsFold) {
  Plan plan = attention("");
  Kernel& kernel = kernel_of(plan, 1);
  kernel.stores[0].value = ValueId{0};
  EXPECT_THAT(fault(plan), testing::HasSubstr("a value of a peer is not stored"));
}

TEST(VerifyPlan, OutputsNobodyWrites) {
  Plan plan = attention("");
  plan.launches.pop_back();
  EXPECT_NE(fault(plan), "");
}

TEST(VerifyPlan, InPlaceAtAnotherElement) {
  Plan plan = norm_step();
  for (Launch& launch : plan.launches) {
    Kernel* kernel = std::get_if<Kernel>(&launch.work);
    for (Statement& s : kernel->statements) {
      const Load* load = std::get_if<Load>(&s.action);
      if (load && plan.buffer(load->buffer).name == "p") s.level = Level::call;
    }
  }
  EXPECT_THAT(fault(plan), testing::HasSubstr("reads what it writes at that very element: p"));
}

TEST(VerifyPlan, SharedMemoryAtOneTime) {
  Plan plan = norm_step();
  plan.buffers[plan.parameter("m").index].slot = plan.buffers[plan.parameter("p").index].slot;
  EXPECT_THAT(fault(plan), testing::HasSubstr("share memory at different times"));
}

TEST(VerifyPlan, PrivateMemoryThatPeersRead) {
  Plan plan = attention("");
  for (Buffer& buffer : plan.buffers) buffer.symmetric = false;
  EXPECT_THAT(fault(plan), testing::HasSubstr("layer is symmetric"));
}

std::string race(const Planned& sample) {
  try {
    verify_order(bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {2}));
    return "";
  } catch (const InternalError& error) {
    return error.what();
  }
}

TEST(VerifyOrder, NamesBothAccesses) {
  Planned sample = planned(kAttention, "", {{"B", 1}, {"S", 4}, {"H", 2}}, {2});
  EXPECT_EQ(race(sample), "");
  sample.plan.launches[1].waits.clear();
  EXPECT_THAT(race(sample),
              testing::HasSubstr("no wait orders rank 1 in launch 0 (layer), chunk 0 and rank 0 in "
                                 "launch 1 (total), chunk 0, which touch element 0 of buffer layer "
                                 "of rank 1"));
}

TEST(VerifyOrder, ReturningTooEarly) {
  Planned sample = planned(kSum, "", {{"N", 3}}, {2});
  EXPECT_EQ(race(sample), "");
  sample.plan.exit_waits.clear();
  EXPECT_THAT(race(sample), testing::HasSubstr("may return while rank 0 in launch 1 (total)"));
}

TEST(VerifyOrder, WaitsOfAnotherAxisDoNotCount) {
  const char* const program = R"(
mesh world(dp, tp)
dim N
program sum(x: f32[N] local@[dp,tp]) {
  y = x + x
  total = all_reduce(y, +)@[dp,tp]
  return total
}
)";
  Planned sample = planned(program, "", {{"N", 2000}}, {2, 2});
  EXPECT_EQ(race(sample), "");
  sample.plan.launches[1].waits[0].axes = {0};
  EXPECT_THAT(race(sample), testing::HasSubstr("no wait orders"));
}

}  // namespace
}  // namespace coconet::plan
