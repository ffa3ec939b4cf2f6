// Flags and buffers that are used again too early show after many calls, when ranks are late by
// chance and operations and sizes change from call to call. Single missing waits are planted in
// unit/simulate/planted_faults_test.cc; ranks that do not agree on the call, in failure_test.cc.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <random>
#include <thread>

#include "coconet/execute/compiled.h"
#include "coconet/plan/bind.h"
#include "coconet/runtime/buffers.h"
#include "coconet/runtime/module.h"
#include "tests/support/planned.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

constexpr int kMost = 3000;  // elements
constexpr int kRanks = 3;

// All-reduces of x, whose slots begin at `first` among those of all operations.
struct Operation {
  Operation(Fold fold, const std::string& steps, std::vector<runtime::BufferNeed>& needs)
      : fold(fold),
        compiled(planned("mesh world(dp)\ndim N\nprogram p(x: i32[N] local) {\n  total = "
                         "all_reduce(x, " +
                             std::string(name_of(fold)) + ")\n  return total\n}\n",
                         steps, {{"N", 1}}, {kRanks})
                     .graph,
                 {}, runtime::Toolchain()),
        module(compiled.library().path, compiled.plan_hash()),
        first(static_cast<int>(needs.size())) {
    const plan::BoundPlan bound = plan::bind(compiled.plan(), {{"N", kMost}}, {{kRanks}});
    for (std::size_t b = 0; b < bound.buffers.size(); ++b) {
      needs.resize(std::max<std::size_t>(needs.size(), first + slot(b) + 1));
      runtime::BufferNeed& need = needs[first + slot(b)];
      need.bytes = std::max(need.bytes, bound.buffers[b].bytes);
      need.symmetric = need.symmetric || compiled.plan().buffers[b].symmetric;
    }
  }

  int slot(std::size_t buffer) const { return compiled.plan().buffers[buffer].slot; }
  std::span<std::int32_t> values(const runtime::Buffers& buffers, plan::BufferId buffer) const {
    const auto bytes = buffers.own(first + slot(buffer.index));
    return {reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / sizeof(std::int32_t)};
  }

  // What rank `rank` gives for element i in call `call`.
  static std::int32_t given(int rank, int call, int i) {
    return (call * 31 + i * 7 + rank * (i + 3)) % 1009 - 500;
  }

  void call(runtime::Communicator& communicator, const runtime::Buffers& buffers, int number,
            std::int64_t n) const {
    const int rank = communicator.rank();
    const auto x = values(buffers, compiled.plan().parameter("x"));
    for (int i = 0; i < n; ++i) x[i] = given(rank, number, i);
    std::vector<void*> addresses;
    for (std::size_t b = 0; b < compiled.plan().buffers.size(); ++b) {
      const auto at = buffers.addresses().subspan(std::size_t(first + slot(b)) * kRanks, kRanks);
      addresses.insert(addresses.end(), at.begin(), at.end());
    }
    const int mesh[] = {kRanks};
    const std::int64_t dims[] = {n};
    runtime::run_call(communicator, module.module(),
                      {.mesh_sizes = mesh, .dims = dims, .knobs = {}, .address = addresses});
    const auto total = values(buffers, compiled.plan().outputs.at(0).buffer);
    for (int i = 0; i < n; ++i) {
      std::int32_t want = given(0, number, i);
      for (int q = 1; q < kRanks; ++q) {
        const std::int32_t next = given(q, number, i);
        want = fold == Fold::sum ? want + next : std::max(want, next);
      }
      expect(total[i] == want, "element " + std::to_string(i) + " of call " +
                                   std::to_string(number) + " on rank " + std::to_string(rank));
    }
  }

  Fold fold;
  execute::Compiled compiled;
  runtime::LoadedModule module;
  int first;
};

// COCONET_CALLS: how many, 100,000 for a long run.
TEST(FieldCalls, OperationsAndSizesThatAlternateWithRandomDelays) {
  const char* const asked = std::getenv("COCONET_CALLS");
  const int calls = asked ? std::atoi(asked) : 2000;
  std::vector<runtime::BufferNeed> needs;
  std::list<Operation> made;
  for (const Fold fold : {Fold::sum, Fold::max}) {
    made.emplace_back(fold, "", needs);
    made.emplace_back(fold, "rs, ag = split(total, (0)) fuse(rs, ag)", needs);
  }
  std::vector<const Operation*> operations;
  for (const Operation& operation : made) operations.push_back(&operation);
  for (const runtime::RankKind kind : rank_kinds()) {
    runtime::LaunchOptions options = test_launch(kRanks, kind);
    options.data_bytes = runtime::symmetric_bytes(needs);
    runtime::run_ranks(options, [&](runtime::Communicator& communicator) {
      const runtime::Buffers buffers(communicator, needs);
      std::mt19937 all(5), own(communicator.rank());  // what all ranks draw alike; delays
      for (int number = 0; number < calls; ++number) {
        const Operation& operation = *operations[all() % operations.size()];
        const std::int64_t n = all() % 20 == 0 ? kMost - all() % 5 : all() % 40;
        if (own() % 40 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 300));
        operation.call(communicator, buffers, number, n);
      }
    });
  }
}

}  // namespace
}  // namespace coconet::tests
