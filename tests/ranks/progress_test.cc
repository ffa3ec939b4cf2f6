#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "coconet/runtime/shared_bytes.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using runtime::Communicator;
using runtime::RankKind;

void must(kernel::Status status, const Communicator& communicator) {
  if (status == kernel::kOk) return;
  communicator.raise_failure();
  throw InternalError("kFailed without an error");
}

std::uint64_t& word(const Communicator& communicator, int rank) {
  return *reinterpret_cast<std::uint64_t*>(communicator.segment(rank).data());
}

// Rank 0 writes, the next rank reads and writes on, ...: every tick of the ring depends on the one
// before it, on another rank.
void pass_around(Communicator& communicator, int rounds) {
  const kernel::Call call = communicator.enter_call(7);
  const int n = call.ranks;
  const int before = (call.rank + n - 1) % n;
  for (int tick = 1; tick <= rounds; ++tick) {
    // Rank r > 0 follows rank r-1 in the same tick, rank 0 the last rank in the tick before.
    must(kernel::wait(call, before, call.rank == 0 ? tick - 1 : tick, tick, 0), communicator);
    const std::uint64_t seen = word(communicator, before);
    const auto hops = static_cast<std::uint64_t>((tick - 1) * n + call.rank);
    expect(n == 1 || hops == 0 || seen == hops, "the value has passed each rank before");
    word(communicator, call.rank) = hops + 1;
    kernel::signal(call, tick);
  }
  communicator.leave_call(rounds);
  communicator.barrier("end");
}

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, ThreadsPassAround) {
  spawn(GetParam(), RankKind::thread, [](Communicator& c) { pass_around(c, 300); });
}

TEST_P(Ranks, ProcessesPassAround) {
  spawn(GetParam(), RankKind::process, [](Communicator& c) { pass_around(c, 300); });
}

INSTANTIATE_TEST_SUITE_P(Progress, Ranks, testing::Values(1, 2, 3, 4, 5, 8));

TEST(Progress, ThreadsTenThousandSteps) {
  spawn(2, RankKind::thread, [](Communicator& c) { pass_around(c, 10000); });
}

TEST(Progress, ProcessesTenThousandSteps) {
  spawn(2, RankKind::process, [](Communicator& c) { pass_around(c, 10000); });
}

TEST(Progress, ManyCallsInARow) {
  spawn(3, RankKind::thread, [](Communicator& c) {
    for (int i = 0; i < 200; ++i) {
      const kernel::Call call = c.enter_call(5, 9);
      expect(call.call_number == static_cast<std::uint64_t>(i), "calls count from 0");
      // As plan::in_a_row has it: an entry and two ticks a call.
      expect(call.base == 1 + static_cast<std::uint64_t>(i) * 3, "counters go on counting");
      // Rank 1 alone has work; nobody waits for it, so the others run ahead to the next entry.
      if (c.rank() == 1) kernel::signal(call, 1);
      c.leave_call(2);
    }
  });
}

TEST(Progress, CallsAndBarriersMix) {
  spawn(2, RankKind::thread, [](Communicator& c) {
    for (int i = 0; i < 50; ++i) {
      c.barrier("one");
      pass_around(c, 3);
    }
  });
}

// More ranks than cores: a barrier must cost scheduling, not naps or time slices. The printed time
// is for people; the bound is far above it.
TEST(Progress, ProcessesOutnumberCores) {
  constexpr int kBarriers = 200;
  const runtime::SharedBytes time(sizeof(double));
  spawn(8, RankKind::process, [&](Communicator& c) {
    c.barrier("start");
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBarriers; ++i) c.barrier("turn");
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (c.rank() == 0) time.as<double>()[0] = taken.count();
  });
  const double each = time.as<double>()[0] / kBarriers;
  std::printf("a barrier of 8 ranks: %.3f ms\n", each * 1000);
  EXPECT_LT(each, 0.1);
}

}  // namespace
}  // namespace coconet::tests
