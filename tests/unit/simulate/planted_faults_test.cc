// Faults planted in plans, a kind at a time: the verifier names rank, launch and chunk without
// running anything, and the executor's schedulers find them too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "coconet/plan/verify.h"
#include "coconet/simulate/executor.h"
#include "tests/support/planned.h"

namespace coconet::simulate {
namespace {

using plan::BufferId;
using plan::Kernel;
using plan::Launch;
using plan::LaunchId;
using plan::Plan;

constexpr int kSeeds = 60;
constexpr std::int64_t kChunks = 4;
constexpr int kCalls = 2;

using Calls = std::vector<plan::BoundCall>;

// Of the plan as it is now.
Calls bound_calls(const Planned& sample) {
  return plan::in_a_row(std::vector<plan::BoundPlan>(
      kCalls, plan::bind(sample.plan, sample.setting.sizes, sample.setting.mesh, {kChunks})));
}

std::string verifiers_words(const Calls& calls) {
  try {
    plan::verify_order(calls);
    plan::verify_contributions(calls[0].bound);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

std::string executors_words(const Planned& sample, const Calls& calls,
                            const std::vector<interp::Result>& want) {
  const std::vector<CallGiven> given = calls_in_a_row(sample.setting, sample.inputs, kCalls);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const ExecutorOptions options{policy_of(seed), static_cast<std::uint64_t>(seed), {}};
    try {
      const std::vector<interp::Result> got = execute_calls(calls, given, options);
      for (int call = 0; call < kCalls; ++call) {
        if (!same_results(sample.graph, got[call], want[call])) return "other values";
      }
    } catch (const InternalError& error) {
      return error.what();
    }
  }
  return "";
}

int launch_named(const Plan& plan, const std::string& name) {
  for (int l = 0; l < static_cast<int>(plan.launches.size()); ++l) {
    if (plan.launches[l].name == name) return l;
  }
  throw InternalError("no launch " + name);
}

Kernel& kernel_of(Plan& plan, const std::string& launch) {
  return std::get<Kernel>(plan.launches[launch_named(plan, launch)].work);
}

BufferId buffer_named(const Plan& plan, const std::string& name) {
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    if (plan.buffers[b].name == name) return {b};
  }
  throw InternalError("no buffer " + name);
}

template <class Action>
plan::Statement& first(Kernel& kernel) {
  for (plan::Statement& statement : kernel.statements) {
    if (std::holds_alternative<Action>(statement.action)) return statement;
  }
  throw InternalError("no such statement");
}

const char* const kTwoAxes = R"(
mesh world(dp, tp)
dim N
program sum(x: f32[N] local@[dp,tp]) {
  y = x + x
  total = all_reduce(y, +)@[dp,tp]
  return total
}
)";

const char* const kChain = R"(
mesh world(tp)
dim N, H
program chain(x: f32[N,H] sliced(0), g: f32[N,H] local, w: f32[H,H]) {
  a = x * 2
  whole = all_gather(a)
  out = matmul(whole, w)
  big = all_reduce(g, +)
  return out, big
}
)";

const char* const kGather = R"(
mesh world(tp)
dim N
program gather(x: f32[N] sliced(0), state s: f32[N] sliced(0)) {
  s2 = update(s, s + x)
  whole = all_gather(s2)
  return whole
}
)";

// A program under a schedule, the fault, and what the verifier says of it.
struct Fault {
  const char* name;
  const char* program;
  const char* steps;
  Sizes sizes;
  std::vector<int> mesh;
  std::function<void(Plan&)> plant;
  const char* words;
  std::function<void(Calls&)> plant_in_calls = [](Calls&) {};
};

Sizes tail() { return {{"B", 2}, {"S", 5}, {"H", 3}}; }

std::vector<Fault> faults_of_folds() {
  return {
      {"APieceIsLackingInAFold",
       kTwoAxes,
       "",
       {{"N", 7}},
       {2, 2},
       [](Plan& plan) {
         std::get<plan::FoldPeers>(first<plan::FoldPeers>(kernel_of(plan, "total")).action).axes = {
             1};
       },
       "rank 0 in launch 1 (total), chunk 0 folds the piece of rank 2 0 times, not once, in total"},
      {"APieceIsTwiceInAFold",
       kAttention,
       kAttentionOverlapped,
       tail(),
       {2},
       [](Plan& plan) { first<plan::Load>(kernel_of(plan, "ar")).per_peer = false; },
       "rank 0 in launch 1 (ar), chunk 0 folds the piece of rank 0 2 times, not once, in rs"},
      {"AWholeValueIsFolded",
       kChain,
       "",
       {{"N", 5}, {"H", 2}},
       {3},
       [](Plan& plan) {
         plan::Statement& load = first<plan::Load>(kernel_of(plan, "big"));
         load.action = plan::Load{buffer_named(plan, "whole")};
       },
       "(big), chunk 0 folds a value that is whole along tp, in big"},
      {"APieceIsNotFolded",
       kAttention,
       "",
       tail(),
       {2},
       [](Plan& plan) {
         Kernel& kernel = kernel_of(plan, "total");
         kernel.statements[0].per_peer = false;
         kernel.stores[0].value = plan::ValueId{0};
       },
       "rank 0 in launch 1 (total), chunk 0 writes to element 0 of buffer total of rank 0 what is "
       "rank 0's piece alone along tp"},
  };
}

std::vector<Fault> faults_of_reads_and_writes() {
  return {
      {"NobodySendsASlice",
       kAttention,
       kAttentionOverlapped,
       tail(),
       {3},
       [](Plan& plan) { kernel_of(plan, "ar").stores[0].all.reset(); },
       "no launch gives element"},
      {"TwoOwnersSendASlice",
       kChain,
       "",
       {{"N", 5}, {"H", 2}},
       {2},
       [](Plan& plan) {
         Kernel& kernel = kernel_of(plan, "whole");
         kernel.space.layout = Layout(1);
         first<plan::Load>(kernel).action = plan::Load{buffer_named(plan, "w")};
       },
       "(whole), chunk 0"},
      {"AValueIsReadThatNobodyWrites",
       kNormStep,
       kNormStepSharded,
       {{"N", 3000}},
       {2},
       [](Plan& plan) {
         for (Launch& launch : plan.launches) {
           auto& stores = std::get<Kernel>(launch.work).stores;
           std::erase_if(stores, [&](const plan::Store& store) {
             return plan.buffer(store.buffer).type.shape[0].is_blocks();
           });
         }
       },
       "which has not been written"},
      {"MemoryIsUsedAgainWhileItIsRead",
       kAttention,
       "",
       tail(),
       {2},
       [](Plan& plan) {
         plan.buffers[buffer_named(plan, "drop").index].slot =
             plan.buffer(buffer_named(plan, "layer")).slot;
         for (Launch& launch : plan.launches) {
           std::erase_if(launch.waits, [](const plan::Wait& wait) { return wait.on.index == 1; });
         }
       },
       "no wait orders rank"},
  };
}

std::vector<Fault> faults_of_order() {
  return {
      {"AChunkIsReadBeforeItIsWritten",
       kAttention,
       kAttentionOverlapped,
       tail(),
       {2},
       [](Plan& plan) {
         plan.launches[0].lag = 2;
         plan.launches[1].waits = {{{}, {0}, false}};
       },
       "no wait orders rank 1 in launch 1 (ar), chunk"},
      {"AChunkIsNotWaitedFor",
       kAttention,
       kAttentionOverlapped,
       tail(),
       {2},
       [](Plan& plan) { plan.launches[1].waits.clear(); },
       "no wait orders rank 1 in launch 0 (layer), chunk 0 and rank 0 in launch 1 (ar), chunk 0"},
      {"ARankReturnsTooEarly",
       kSum,
       "",
       {{"N", 30}},
       {2},
       [](Plan& plan) { plan.exit_waits.clear(); },
       "rank 1 may return while rank 0 in launch 1 (total), chunk 0 still touches"},
      {"RanksWaitForEachOther",
       kAttention,
       kAttentionOverlapped,
       tail(),
       {2},
       [](Plan& plan) {
         plan.launches[0].waits.push_back({LaunchId{1}, {0}, true});
       },
       "a deadlock: rank 0 in launch 0 (layer), chunk 0, waits for rank 1 to do launch 1 (ar) of "
       "that chunk; rank 1 in launch 0 (layer), chunk 0, waits for rank 0 to do launch 1 (ar) of "
       "that chunk"},
  };
}

// In chunks of two rows of the eight that either rank has: a ring of three of these four.
std::vector<Fault> faults_of_rings() {
  const auto ring = [](const char* name, const std::function<void(Plan&)>& plant,
                       const char* words) {
    return Fault{name,  kAttention, kAttentionOverlapped, {{"B", 2}, {"S", 8}, {"H", 3}}, {2},
                 plant, words};
  };
  const auto behind = [](Plan& plan) -> plan::Wait& { return plan.launches[0].waits.at(0); };
  return {
      ring(
          "ARingIsWrittenOverBeforePeersHaveReadIt",
          [](Plan& plan) { plan.launches[0].waits.clear(); },
          "no wait orders rank 1 in launch 1 (ar), chunk 0 and rank 0 in launch 0 (layer), chunk "
          "3, which touch element"),
      ring(
          "AWaitIsForAChunkTooFarBefore", [=](Plan& plan) { ++behind(plan).behind; },
          "no wait orders rank 1 in launch 1 (ar), chunk 0 and rank 0 in launch 0 (layer), chunk "
          "3, which touch element"),
      ring(
          "ARingIsTooShort",
          [](Plan& plan) { plan.buffers[buffer_named(plan, "layer").index].ring = 2; },
          "no wait orders rank"),
  };
}

Fault of_gather(
    const char* name, const char* words, const std::function<void(Plan&)>& plant,
    const std::function<void(Calls&)>& plant_in_calls = [](Calls&) {}) {
  return {name, kGather, "", {{"N", 6}}, {2}, plant, words, plant_in_calls};
}

std::vector<Fault> faults_between_calls() {
  const auto nothing = [](Plan&) {};
  return {
      of_gather("APeersEntryIsNotAwaited",
                "rank 1 may not have entered when rank 0 in launch 1 (whole), chunk 0 touches "
                "element 0 of buffer whole of rank 1",
                [](Plan& plan) { plan.launches[1].waits.clear(); }),
      {"ABufferIsUsedAgainWhileAPeerReadsIt",
       kTwoAxes,
       "",
       {{"N", 6}},
       {2, 2},
       [](Plan& plan) { plan.exit_waits[0].axes = {1}; },
       "rank 2 may return while rank 0 in launch 1 (total), chunk 0 still touches element 0 of "
       "buffer y of rank 2"},
      of_gather(
          "ASignalIsGoneBeforeAPeerHasSeenIt",
          "rank 0 entering call 1 sets its progress back to 1 from the 3 of rank 0 returning from "
          "call 0, which a rank that waits for it may not have seen",
          nothing, [](Calls& calls) { calls[1].base = calls[0].base; }),
      of_gather(
          "ASignalOfTheCallBeforeIsTakenForTheNext",
          "rank 0 in launch 1 (whole), chunk 0 of call 1, waits for rank 1 to enter it, which a "
          "signal of another call satisfies: that of rank 1 in launch 1 (whole), chunk 0",
          nothing, [](Calls& calls) { calls[1].base = calls[0].base + calls[0].bound.ticks; }),
      of_gather("ACallCountsTooFewTicks",
                "rank 0 returning from call 0 sets its progress back to 2 from the 3 of rank 0 in "
                "launch 1 (whole), chunk 0",
                nothing,
                [](Calls& calls) {
                  --calls[0].bound.ticks;
                  --calls[1].base;
                }),
      of_gather("ALaunchDoesNotSignal",
                "a deadlock: rank 0 returning from call 0, waits for rank 1 to do launch 1 "
                "(whole); rank 1 returning from call 0, waits for rank 0 to do launch 1 (whole)",
                [](Plan& plan) { plan.launches[1].signals = false; }),
  };
}

std::vector<Fault> faults() {
  std::vector<Fault> out;
  for (const auto& some : {faults_of_folds(), faults_of_reads_and_writes(), faults_of_order(),
                           faults_of_rings(), faults_between_calls()}) {
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

class PlantedFault : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsNamedByTheVerifierAndFoundByTheExecutor) {
  const Fault& fault = GetParam();
  Planned sample = planned(fault.program, fault.steps, fault.sizes, fault.mesh);
  const auto want = meanings(sample.graph, sample.setting, sample.inputs, kCalls);
  Calls calls = bound_calls(sample);
  ASSERT_EQ(verifiers_words(calls), "");
  ASSERT_EQ(executors_words(sample, calls, want), "");
  fault.plant(sample.plan);
  calls = bound_calls(sample);
  fault.plant_in_calls(calls);
  EXPECT_THAT(verifiers_words(calls), testing::HasSubstr(fault.words));
  EXPECT_NE(executors_words(sample, calls, want), "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, PlantedFault, testing::ValuesIn(faults()),
                         [](const auto& info) { return std::string(info.param.name); });

// The verifier's small cases, of sizes that the program allows.
TEST(VerifySmall, GivesTheNumberOfCases) {
  for (const char* steps : {"", kAttentionOverlapped}) {
    const Planned sample = planned(kAttention, steps, tail(), {2});
    EXPECT_EQ(plan::verify_small(sample.plan).verified, *steps ? 9 : 3);
  }
  EXPECT_EQ(plan::verify_small(planned(kNormStep, kNormStepSharded, {{"N", 5}}, {2}).plan).verified,
            6);
  EXPECT_EQ(plan::verify_small(planned(kTwoAxes, "", {{"N", 5}}, {2, 2}).plan).verified, 3);
  const char* const heads = R"(
mesh world(tp)
dim S, H, nh, hd
require H == nh * hd and nh % size(tp) == 0
program heads(x: f32[S,H] sliced(1)) {
  y = all_gather(reshape(x, [S,nh,hd]) * 2)
  return y
}
)";
  const Sizes sizes = {{"S", 2}, {"H", 4}, {"nh", 2}, {"hd", 2}};
  EXPECT_EQ(plan::verify_small(planned(heads, "", sizes, {2}).plan).verified, 3);
  Planned broken = planned(kTwoAxes, "", {{"N", 5}}, {2, 2});
  broken.plan.launches[1].waits.clear();
  EXPECT_THROW(plan::verify_small(broken.plan), InternalError);
}

}  // namespace
}  // namespace coconet::simulate
