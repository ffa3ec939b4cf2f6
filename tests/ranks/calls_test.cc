// Generated code, call after call: its waits and signals are those of the plan's steps, which the
// verifier has seen (plan/calls.h), and what a call leaves in storage the next begins with.
#include <gtest/gtest.h>

#include <cstring>

#include "coconet/execute/compiled.h"
#include "coconet/execute/memory_need.h"
#include "coconet/runtime/module.h"
#include "coconet/runtime/shared_bytes.h"
#include "tests/support/planned.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

struct Made {
  Made(const std::string& program, const std::string& steps, const Sizes& sizes,
       const std::vector<int>& mesh)
      : sample(planned(program, steps, sizes, mesh)),
        compiled(sample.graph, {}, runtime::Toolchain()),
        module(compiled.library().path, compiled.plan_hash()),
        bound(plan::bind(compiled.plan(), sample.setting.sizes, sample.setting.mesh, {5})),
        needs(execute::slots_of(bound)) {
    for (const std::string& dim : plan().graph.header().dims) dims.push_back(sizes.at(dim));
  }

  const plan::Plan& plan() const { return compiled.plan(); }
  int ranks() const { return sample.setting.mesh.ranks(); }

  Planned sample;
  execute::Compiled compiled;
  runtime::LoadedModule module;
  plan::BoundPlan bound;
  std::vector<runtime::BufferNeed> needs;
  std::vector<std::int64_t> dims;
};

// "waits for rank 1 to come to 7, is at 5", for every wait of a rank in a call, and its end.
struct Trace {
  std::uint64_t progress = 0;
  std::vector<std::string> lines;

  void note(int peer, std::uint64_t target) {
    lines.push_back("waits for rank " + std::to_string(peer) + " to come to " +
                    std::to_string(target) + ", is at " + std::to_string(progress));
  }
};

Trace by_steps(const std::vector<plan::BoundCall>& calls, int call, int rank) {
  const plan::Steps steps(calls);
  Trace out;
  for (int step = 0; step < steps.count(); ++step) {
    if (steps.call_of(step) != call) continue;
    for (const plan::Steps::Need& need : steps.needs(step, rank)) {
      out.note(need.rank, static_cast<std::uint64_t>(need.progress));
    }
    out.progress = static_cast<std::uint64_t>(
        steps.signal(step).value_or(static_cast<std::int64_t>(out.progress)));
  }
  return out;
}

// The module alone: its peers' counters are 0, so it has to ask for all that it waits for.
Trace by_module(const Made& made, const plan::BoundCall& bound, int rank) {
  const int ranks = made.ranks();
  std::vector<std::vector<std::byte>> memory;
  for (const runtime::BufferNeed& need : made.needs) {
    memory.insert(memory.end(), ranks, std::vector<std::byte>(need.bytes + 64));
  }
  std::vector<void*> address;
  for (const plan::Buffer& buffer : made.plan().buffers) {
    for (int q = 0; q < ranks; ++q) address.push_back(memory[buffer.slot * ranks + q].data());
  }
  std::vector<kernel::Counter> counters(ranks);
  std::vector<kernel::Counter*> progress;
  for (kernel::Counter& counter : counters) {
    counter.store(0);
    progress.push_back(&counter);
  }
  counters[rank].store(bound.base);
  struct State {
    Trace trace;
    kernel::Counter* own;
  } state{{}, &counters[rank]};
  kernel::Call call;
  call.rank = rank;
  call.ranks = ranks;
  call.mesh_sizes = made.sample.setting.mesh.sizes.data();
  call.dims = made.dims.data();
  call.knobs = bound.bound.knobs.data();
  call.address = address.data();
  call.progress = progress.data();
  call.base = bound.base;
  call.runtime = &state;
  call.matmul = [](void*, const kernel::MatmulCall&) { return kernel::kOk; };
  call.wait_slow = [](void* runtime, int peer, std::uint64_t target, int, int) {
    State& at = *static_cast<State*>(runtime);
    at.trace.progress = at.own->load();
    at.trace.note(peer, target);
    return kernel::kOk;
  };
  std::int64_t ticks = 0;
  EXPECT_EQ(made.module.module().run(call, &ticks), kernel::kOk);
  EXPECT_EQ(ticks, bound.bound.ticks);
  state.trace.progress = call.base + static_cast<std::uint64_t>(ticks);
  return state.trace;
}

const char* const kStages = R"(
mesh world(pp, tp)
dim N
program stages(x: f32[N] local@[pp,tp]) {
  y = all_reduce(x, +)@tp
  z = shift(y * 2, pp, 1)
  whole = all_reduce(z, +)@pp
  return whole
}
)";

TEST(CompiledCalls, WaitAndSignalAsTheStepsOfThePlanSay) {
  const Made made[] = {
      {kAttention, "", {{"B", 2}, {"S", 4}, {"H", 6}}, {3}},
      {kAttention, kAttentionOverlapped, {{"B", 2}, {"S", 9}, {"H", 6}}, {3}},
      {kNormStep, kNormStepSharded, {{"N", 3000}}, {2}},
      {kStages, "", {{"N", 5}}, {2, 2}},
  };
  for (const Made& one : made) {
    const auto calls = plan::in_a_row({one.bound, one.bound});
    for (int rank = 0; rank < one.ranks(); ++rank) {
      const Trace want = by_steps(calls, 1, rank), got = by_module(one, calls[1], rank);
      EXPECT_GT(want.lines.size(), 0u);
      EXPECT_EQ(got.lines, want.lines) << print(one.plan());
      EXPECT_EQ(got.progress, want.progress);
    }
  }
}

// Inputs are written before the first call only.
void call_again_and_again(const Made& made, runtime::RankKind kind,
                          std::optional<kernel::Stream> stream = std::nullopt) {
  constexpr int kCalls = 3;
  const std::vector<interp::Result> want =
      meanings(made.sample.graph, made.sample.setting, made.sample.inputs, kCalls);
  runtime::LaunchOptions options = test_launch(made.ranks(), kind);
  options.data_bytes = runtime::symmetric_bytes(made.needs);
  options.communicator.stream = stream;
  runtime::run_ranks(options, [&](runtime::Communicator& communicator) {
    const runtime::Buffers buffers(communicator, made.needs);
    const int rank = communicator.rank();
    std::vector<void*> address;
    for (const plan::Buffer& buffer : made.plan().buffers) {
      const auto at =
          buffers.addresses().subspan(std::size_t(buffer.slot) * made.ranks(), made.ranks());
      address.insert(address.end(), at.begin(), at.end());
      const auto input = made.sample.inputs.find(buffer.name);
      if (buffer.role == plan::BufferRole::temporary || input == made.sample.inputs.end()) continue;
      const interp::Bytes& piece = input->second[rank];
      std::copy(piece.begin(), piece.end(), buffers.own(buffer.slot).begin());
    }
    for (int call = 0; call < kCalls; ++call) {
      runtime::run_call(communicator, made.module.module(),
                        {.mesh_sizes = made.sample.setting.mesh.sizes,
                         .dims = made.dims,
                         .knobs = made.bound.knobs,
                         .seed = made.sample.setting.seed,
                         .address = address});
      for (const auto& [name, pieces] : want[call].storage) {
        const auto own = buffers.own(made.plan().buffer(made.plan().parameter(name)).slot);
        expect(std::equal(pieces[rank].begin(), pieces[rank].end(), own.begin()),
               name + " after call " + std::to_string(call));
      }
    }
  });
}

const char* const kMasked = R"(
mesh world(dp)
dim N
program masked(g: f32[N] local, state m: f32[N]) {
  total = all_reduce(dropout(g, 0.25), +)
  m2 = update(m, 0.5 * m + dropout(total, 0.5))
  return m2
}
)";

TEST(CompiledCalls, BeginWithWhatTheCallBeforeHasLeft) {
  const Made made[] = {
      {kMasked, "", {{"N", 2500}}, {3}},
      {kMasked, "rs, ag = split(total) fuse(rs, ag)", {{"N", 2500}}, {3}},
  };
  for (const Made& one : made) {
    for (const runtime::RankKind kind : rank_kinds()) {
      call_again_and_again(one, kind);
      for (const auto way : runtime::StreamChoice::kWays) call_again_and_again(one, kind, way);
    }
  }
}

}  // namespace
}  // namespace coconet::tests
