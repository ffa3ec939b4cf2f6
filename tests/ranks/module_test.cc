#include "coconet/runtime/module.h"

#include <gmock/gmock.h>

#include <cstring>

#include "coconet/runtime/buffers.h"
#include "coconet/runtime/toolchain.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using runtime::BufferNeed;
using runtime::Buffers;
using runtime::Communicator;

// Buffer 0 (symmetric) holds each rank's value, buffer 1 (private) gets the sum of all.
constexpr char kSum[] = R"(
#include "coconet/kernel/call.h"
using namespace coconet::kernel;
static Status run(const Call& call, std::int64_t* ticks) {
  auto at = [&](int buffer, int rank) {
    return static_cast<double*>(call.address[buffer * call.ranks + rank]);
  };
  *at(0, call.rank) = static_cast<double>(call.dims[0] * (call.rank + 1));
  signal(call, 1);
  double sum = 0;
  for (int q = 0; q < call.ranks; ++q) {
    if (Status status = wait(call, q, 1, 2, 0); status != kOk) return status;
    sum += *at(0, q);
  }
  *at(1, call.rank) = sum;
  signal(call, 2);
  // The next call writes buffer 0 again.
  for (int q = 0; q < call.ranks; ++q) {
    if (Status status = wait(call, q, 2, 3, 1); status != kOk) return status;
  }
  signal(call, 3);
  *ticks = 3;
  return kOk;
}
extern "C" const Module coconet_module = {kAbiVersion, 77, 2, run};
)";

const BufferNeed kNeeds[] = {{8, true}, {8, false}};

void sum_repeatedly(Communicator& communicator, const kernel::Module& module, int calls) {
  Buffers buffers(communicator, kNeeds);
  const int n = communicator.ranks();
  const int mesh[] = {n};
  for (int i = 0; i < calls; ++i) {
    const std::int64_t dims[] = {i};
    runtime::CallArguments arguments;
    arguments.mesh_sizes = mesh;
    arguments.dims = dims;
    arguments.address = buffers.addresses();
    run_call(communicator, module, arguments);
    double sum = 0;
    std::memcpy(&sum, buffers.own(1).data(), sizeof sum);
    expect(sum == i * n * (n + 1) / 2, "the sum over ranks in call " + std::to_string(i));
  }
}

TEST(Module, RunsOnAllRanks) {
  const runtime::CompiledLibrary library = runtime::Toolchain().compile(kSum);
  const runtime::LoadedModule loaded(library.path, 77);
  for (const runtime::RankKind kind : rank_kinds()) {
    for (const int ranks : {1, 4, 7}) {
      spawn(ranks, kind, [&](Communicator& c) { sum_repeatedly(c, loaded.module(), 50); });
    }
  }
}

// How many threads the call may use.
constexpr char kThreads[] = R"(
#include "coconet/kernel/call.h"
using namespace coconet::kernel;
static Status run(const Call& call, std::int64_t* ticks) {
  *static_cast<double*>(call.address[call.rank]) = call.threads;
  *ticks = 0;
  return kOk;
}
extern "C" const Module coconet_module = {kAbiVersion, 78, 1, run};
)";

TEST(Module, ACallUsesNoMoreThreadsThanItIsGiven) {
  const runtime::CompiledLibrary library = runtime::Toolchain().compile(kThreads);
  const runtime::LoadedModule loaded(library.path, 78);
  for (const runtime::RankKind kind : rank_kinds()) {
    runtime::LaunchOptions options = test_launch(2, kind);
    options.communicator.threads = 3;
    const auto texts = outcome_texts(options, [&](Communicator& communicator) {
      const BufferNeed need[] = {{8, true}};
      Buffers buffers(communicator, need);
      const int mesh[] = {2};
      for (const auto& [given, used] : {std::pair(0, 3), {1, 1}, {2, 2}, {7, 3}}) {
        runtime::CallArguments arguments;
        arguments.mesh_sizes = mesh;
        arguments.address = buffers.addresses();
        arguments.threads = given;
        run_call(communicator, loaded.module(), arguments);
        double threads = 0;
        std::memcpy(&threads, buffers.own(0).data(), sizeof threads);
        expect(threads == used, "the threads of a call that is given " + std::to_string(given));
      }
    });
    EXPECT_THAT(texts, testing::Each("finished"));
  }
}

TEST(Module, ARankThatFailsStopsTheOthersInTheMiddle) {
  const runtime::CompiledLibrary library = runtime::Toolchain().compile(kSum);
  const runtime::LoadedModule loaded(library.path, 77);
  for (const runtime::RankKind kind : rank_kinds()) {
    const auto texts = outcome_texts(test_launch(3, kind), [&](Communicator& c) {
      if (c.rank() == 1) {
        c.enter_call(77);
        throw UserError(ErrorKind::data, "no more rows");
      }
      sum_repeatedly(c, loaded.module(), 1);
    });
    EXPECT_EQ(texts[1], "failed: no more rows");
    for (const int rank : {0, 2}) {
      EXPECT_THAT(texts[rank], testing::ContainsRegex(
                                   "because rank 1 failed while rank . waited .*: no more rows"));
    }
  }
}

}  // namespace
}  // namespace coconet::tests
