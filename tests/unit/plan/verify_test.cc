// Planted faults, each named by the verifier.
#include "coconet/plan/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

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

// Where there are no runs one thread does it all.
TEST(VerifyPlan, WhatIsWrittenOnceACallAndReadByThreadsThatTakeRuns) {
  for (const bool runs : {true, false}) {
    Plan plan = attention("");
    const BufferId b = plan.parameter("b");
    Kernel& kernel = kernel_of(plan, 1);
    Statement read = kernel.statements[1];
    read.action = Load{b};
    read.inputs.clear();
    read.level = Level::call;
    kernel.statements.push_back(read);
    const ValueId value{static_cast<int>(kernel.statements.size()) - 1};
    if (!runs) kernel.stores[0].value = value;
    kernel.stores.push_back({value, b});
    if (runs) {
      EXPECT_THAT(fault(plan), testing::HasSubstr("reads what it writes at that very element: b"));
    } else {
      EXPECT_EQ(fault(plan), "");
    }
  }
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

// One fault each in the plan of attention, unscheduled or overlapped.
struct Broken {
  const char* name;
  const char* steps;
  std::function<void(Plan&)> plant;
  const char* words;
};

Statement& statement(Plan& plan, int launch, int index) {
  return kernel_of(plan, launch).statements.at(index);
}

// Launch 1 folds the peers' `layer` to `total`, launch 2 adds b.
std::vector<Broken> broken_names_and_values() {
  return {
      {"ABufferThatDoesNotExist", "",
       [](Plan& plan) { statement(plan, 1, 0).action = Load{BufferId{99}}; }, "a buffer exists"},
      {"ABufferToStoreToThatDoesNotExist", "",
       [](Plan& plan) { kernel_of(plan, 1).stores[0].buffer = {}; }, "a buffer exists"},
      {"AValueThatDoesNotExist", "",
       [](Plan& plan) { kernel_of(plan, 1).stores[0].value = ValueId{99}; },
       "a stored value exists"},
      {"AnAxisThatDoesNotExist", "",
       [](Plan& plan) { kernel_of(plan, 1).stores[0].all = AxisList{5}; }, "an axis exists"},
      {"AGroupThatDoesNotExist", "", [](Plan& plan) { plan.launches[0].overlap = 7; },
       "the group exists"},
      {"ALaunchOutsideItsGroup", kAttentionOverlapped,
       [](Plan& plan) { plan.overlaps[0].last = LaunchId{0}; }, "a launch stands in its group"},
      {"AGroupThatItsLaunchesDoNotKnow", kAttentionOverlapped,
       [](Plan& plan) { plan.launches[0].overlap = -1; }, "a group's launches know it"},
      {"AStoreOfAnotherDtype", "", [](Plan& plan) { statement(plan, 1, 1).dtype = f16; },
       "total gets values of its dtype"},
      {"AValueCoarserThanWhatItReads", "",
       [](Plan& plan) { statement(plan, 2, 2).level = Level::call; },
       "launch 2 ('+' in drop): does not hold: %2 is as fine as what it reads"},
      {"APeersValueOutsideItsFold", "",
       [](Plan& plan) { kernel_of(plan, 1).stores[0].value = ValueId{0}; },
       "a value of a peer is not stored"},
      {"APeersValueThatIsNotFolded", "",
       [](Plan& plan) { statement(plan, 1, 1).action = Compute{Pointwise{PointwiseFn::neg}}; },
       "%0 feeds a fold over the peers"},
      {"APeersValueThatIsReadAsOnesOwn", "",
       [](Plan& plan) {
         Statement read = statement(plan, 1, 1);
         read.action = Compute{Pointwise{PointwiseFn::neg}};
         kernel_of(plan, 1).statements.push_back(read);
       },
       "%2 is of the peer it reads"},
      {"APeersValueAfterItsFold", "",
       [](Plan& plan) { kernel_of(plan, 1).statements.push_back(statement(plan, 1, 0)); },
       "%2 feeds a fold over the peers"},
      {"AFoldOfNothing", "", [](Plan& plan) { statement(plan, 1, 1).inputs.clear(); },
       "%1 folds one value"},
      {"AFoldInsideAnother", "", [](Plan& plan) { statement(plan, 1, 1).per_peer = true; },
       "a fold is not inside another"},
      {"AFoldOfARunThatIsThePiece", "",
       [](Plan& plan) { statement(plan, 2, 2).action = ReduceRun{Fold::sum}; },
       "%2 folds one value"},
  };
}

std::vector<Broken> broken_memory_and_waits() {
  return {
      {"AScalarThatIsWritten", "",
       [](Plan& plan) { kernel_of(plan, 2).stores[0].buffer = plan.parameter("rate"); },
       "scalars are not written"},
      {"AnOutputWithoutABuffer", "", [](Plan& plan) { plan.outputs[0].buffer = {}; },
       "output out has a buffer"},
      {"AnOutputThatNobodyWrites", "",
       [](Plan& plan) {
         plan.buffers.push_back(plan.buffer(plan.outputs[0].buffer));
         plan.buffers.back().slot = 99;
         plan.outputs[0].buffer = BufferId{static_cast<int>(plan.buffers.size()) - 1};
       },
       "output out is written"},
      {"AProductInPlace", "",
       [](Plan& plan) {
         MatmulLaunch& matmul = std::get<MatmulLaunch>(plan.launches[0].work);
         matmul.out = matmul.a;
       },
       "launch 0 (layer): does not hold: a launch does not write what it reads"},
      {"ABufferWithoutASlot", "", [](Plan& plan) { plan.buffers[0].slot = -1; }, "x has no slot"},
      {"ALifetimeThatEndsBeforeItBegins", "",
       [](Plan& plan) { plan.buffers[0].first = LaunchId{4}; }, "x is used first before last"},
      {"AWaitForNobody", "", [](Plan& plan) { plan.launches[1].waits[0].axes.clear(); },
       "a wait has axes"},
      {"AWaitAlongNoAxis", "", [](Plan& plan) { plan.launches[1].waits[0].axes = {5}; },
       "an axis exists"},
      {"AChunkOfTheEntry", "",
       [](Plan& plan) {
         plan.launches[1].waits.push_back({{}, {0}, true});
       },
       "the entry has no chunks"},
      {"AnExitThatWaitsForTheEntry", "",
       [](Plan& plan) {
         plan.exit_waits.push_back({{}, {0}, false});
       },
       "the exit waits for launches"},
      {"ALaunchThatDoesNotSignal", "", [](Plan& plan) { plan.launches[0].signals = false; },
       "launch 1 (total): does not hold: launch 0 (layer), which is waited for, signals"},
      {"TheLastLaunchDoesNotSignal", "", [](Plan& plan) { plan.launches[1].signals = false; },
       "launch 1 (total), which is waited for, signals"},
  };
}

// Launch 0 writes `layer`, a ring of 3 chunks, and waits for the chunk 3 before of launch 1.
std::vector<Broken> broken_rings() {
  const auto layer = [](Plan& plan) -> Buffer& {
    return plan.buffers.at(std::get<MatmulLaunch>(plan.launches[0].work).out.index);
  };
  return {
      {"ARingThatIsTooShort", kAttentionOverlapped, [=](Plan& plan) { layer(plan).ring = 1; },
       "launch 0 (layer): does not hold: layer, a ring, holds a chunk until launch 1 has touched "
       "it"},
      {"AnOutputThatIsARing", kAttentionOverlapped,
       [](Plan& plan) { plan.buffers[plan.outputs[0].buffer.index].ring = 2; },
       "an output is no ring"},
      {"ARingOfAnInput", kAttentionOverlapped,
       [](Plan& plan) { plan.buffers[plan.parameter("x").index].ring = 2; },
       "x, a ring, lives in one overlapped group"},
      {"ARingThatLivesLonger", kAttentionOverlapped,
       [=](Plan& plan) { layer(plan).last = LaunchId{2}; },
       "layer, a ring, lives in one overlapped group"},
      {"AWaitForATurnToCome", kAttentionOverlapped,
       [](Plan& plan) { plan.launches[0].waits.at(0).behind = 1; },
       "launch 0 (layer): does not hold: a wait is on an earlier turn"},
      {"AChunkThatComesAfter", kAttentionOverlapped,
       [](Plan& plan) { plan.launches[0].waits.at(0).behind = -2; }, "a chunk is before another"},
      {"AChunkBeforeOfNoGroup", "", [](Plan& plan) { plan.launches[1].waits[0].behind = 1; },
       "a chunk is before another"},
      {"AWaitOnNoLaunch", "", [](Plan& plan) { plan.launches[1].waits[0].on = LaunchId{9}; },
       "a launch exists"},
  };
}

std::vector<Broken> broken() {
  std::vector<Broken> out = broken_names_and_values();
  for (Broken& one : broken_rings()) out.push_back(std::move(one));
  for (Broken& one : broken_memory_and_waits()) out.push_back(std::move(one));
  return out;
}

class BrokenPlan : public testing::TestWithParam<Broken> {};

TEST_P(BrokenPlan, IsRefused) {
  Plan plan = attention(GetParam().steps);
  ASSERT_EQ(fault(plan), "");
  GetParam().plant(plan);
  EXPECT_THAT(fault(plan), testing::HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(Rules, BrokenPlan, testing::ValuesIn(broken()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(VerifyPlan, AFoldAlongTheRunIsOneARun) {
  Plan plan = norm_step();
  for (Launch& launch : plan.launches) {
    for (Statement& s : std::get<Kernel>(launch.work).statements) {
      if (std::holds_alternative<ReduceRun>(s.action)) s.level = Level::element;
    }
  }
  EXPECT_THAT(fault(plan), testing::HasSubstr("is one a run"));
}

TEST(VerifyPlan, WhatAKernelFoldsItDoesNotWrite) {
  Plan plan = norm_step();
  for (Launch& launch : plan.launches) {
    for (Statement& s : std::get<Kernel>(launch.work).statements) {
      if (std::holds_alternative<FoldBuffer>(s.action)) {
        s.action = FoldBuffer{plan.parameter("p"), Fold::sum};
      }
    }
  }
  EXPECT_THAT(fault(plan), testing::HasSubstr("a launch does not write what it reads"));
}

std::string made_of(const Planned& sample) {
  try {
    verify_contributions(bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {2}));
    return "";
  } catch (const InternalError& error) {
    return error.what();
  }
}

TEST(VerifyContributions, MemoryThatIsReadAsAnotherBuffer) {
  Planned sample = planned(kAttention, "", {{"B", 1}, {"S", 4}, {"H", 2}}, {2});
  EXPECT_EQ(made_of(sample), "");
  std::vector<Buffer>& buffers = sample.plan.buffers;
  buffers.at(7).slot = buffers.at(3).slot;
  ASSERT_EQ(buffers[3].name, "r");
  EXPECT_THAT(made_of(sample),
              testing::HasSubstr("rank 0 in launch 4 (out), chunk 0 reads element 0 of buffer r of "
                                 "rank 0, where buffer " +
                                 buffers[7].name + " is"));
}

const char* const kSent = R"(
mesh world(tp)
dim N
program sent(x: f32[N] sliced(0), b: f32[N], state m: f32[N]) {
  whole = all_gather(x)
  part = as_partial(b + whole, +)
  total = all_reduce(part, +)
  m2 = update(m, total)
  return m2
}
)";

TEST(VerifyContributions, AnElementThatTwoRanksWrite) {
  Planned sample = planned(kSent, "", {{"N", 4}}, {2});
  EXPECT_EQ(made_of(sample), "");
  Kernel& gather = kernel_of(sample.plan, 0);
  gather.space.layout = Layout(1);
  gather.statements[0].action = Load{sample.plan.parameter("b")};
  EXPECT_THAT(made_of(sample),
              testing::HasSubstr("rank 1 in launch 0 (whole), chunk 0 writes "
                                 "element 0 of buffer whole of rank 0, which rank "
                                 "0 has written in chunk 0 of this launch already"));
}

TEST(VerifyContributions, AWholeValueWhereAPieceShouldBe) {
  Planned sample = planned(kSent, "", {{"N", 4}}, {2});
  int planted = 0;
  for (Launch& launch : sample.plan.launches) {
    for (Statement& s : std::get<Kernel>(launch.work).statements) {
      const Compute* compute = std::get_if<Compute>(&s.action);
      if (!compute || !std::holds_alternative<AsPartial>(compute->op)) continue;
      s.action = Compute{Pointwise{PointwiseFn::neg}};
      ++planted;
    }
  }
  ASSERT_EQ(planted, 1);
  EXPECT_THAT(made_of(sample), testing::HasSubstr("what is whole along tp, where the buffer is "
                                                  "partial(+)"));
}

TEST(VerifyContributions, AnUpdateThatIsNotStored) {
  Planned sample = planned(kSent, "", {{"N", 4}}, {2});
  for (Launch& launch : sample.plan.launches) {
    std::erase_if(std::get<Kernel>(launch.work).stores,
                  [&](const Store& store) { return store.buffer == sample.plan.parameter("m"); });
  }
  EXPECT_THAT(made_of(sample),
              testing::HasSubstr("no launch gives element 0 of buffer m of rank 0 its value"));
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
  const char* const program =
      "mesh world(dp, tp)\ndim N\n"
      "program sum(x: f32[N] local@[dp,tp]) {\n"
      "  y = x + x\n  total = all_reduce(y, +)@[dp,tp]\n  return total\n}\n";
  Planned sample = planned(program, "", {{"N", 2000}}, {2, 2});
  EXPECT_EQ(race(sample), "");
  sample.plan.launches[1].waits[0].axes = {0};
  EXPECT_THAT(race(sample), testing::HasSubstr("no wait orders"));
}

}  // namespace
}  // namespace coconet::plan
