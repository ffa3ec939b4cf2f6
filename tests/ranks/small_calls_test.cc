// Small calls, one-shot with exchanged inputs: they wait for nothing but the entry, so that ranks
// are further apart than in others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <thread>

#include "coconet/execute/run.h"
#include "tests/support/planned.h"
#include "tests/support/spawn.h"

namespace coconet {
namespace {

using runtime::RankKind;
using testing::HasSubstr;

std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

void need(bool fine, const std::string& what) {
  if (!fine) throw UserError(ErrorKind::data, what);
}

// Each call's inputs are written while slower ranks may still be in the call before.
void run_calls(RankKind kind, int ranks, std::int64_t elements, int calls) {
  const Planned sample = planned(
      "mesh world(dp)\ndim N\n"
      "program p(x: f32[N] local, k: f32[N] local, state m: f32[N]) {\n"
      "  y = all_reduce(x, +)\n  z = all_reduce(k, +)\n  m2 = update(m, m + y * z)\n"
      "  return y\n}\n",
      "", {{"N", elements}}, {ranks});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting = sample.setting;
  request.kind = kind;
  request.timeout = std::chrono::seconds(100);
  request.knobs.one_shot = true;
  execute::run_on_ranks(compiled, request, [&](execute::RankCalls& rank) {
    const std::span<float> x = floats(rank.own("x")), k = floats(rank.own("k"));
    const std::span<float> y = floats(rank.own("y")), m = floats(rank.own("m"));
    std::mt19937 random(static_cast<unsigned>(rank.rank()));
    float total = 0;
    for (int call = 0; call < calls; ++call) {
      const auto value = static_cast<float>(call % 100 + 1);
      for (float& element : x) element = value * static_cast<float>(rank.rank() + 1);
      for (float& element : k) element = static_cast<float>(call % 2 + rank.rank());
      if (random() % 50 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      rank.call();
      const int pairs = ranks * (ranks - 1) / 2;
      const float sum = value * static_cast<float>(pairs + ranks);
      const float added = sum * static_cast<float>(call % 2 * ranks + pairs);
      total += added;
      for (const float element : y) need(element == sum, "y of call " + std::to_string(call));
      for (const float element : m) need(element == total, "m of call " + std::to_string(call));
      if (call % 100 < 99) continue;
      total = 0;
      for (float& element : m) element = 0;
    }
  });
}

TEST(SmallCalls, FollowEachOtherWithRandomDelays) {
  for (const RankKind kind : tests::rank_kinds()) {
    for (const std::int64_t elements : {1, 13, 130}) run_calls(kind, 2, elements, 3000);
    run_calls(kind, 4, 33, 1000);
  }
}

// Too large for messages, or from too many ranks: one-shot on peers' memory.
TEST(SmallCalls, OfWhatDoesNotFitAMessage) {
  run_calls(RankKind::thread, 2, 3000, 300);
  run_calls(RankKind::thread, 9, 5, 100);
}

std::string message_of_calls(const std::function<void(runtime::Communicator&)>& function) {
  try {
    tests::spawn(2, RankKind::process, function);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(SmallCalls, AnotherCallOrADeathIsSeen) {
  const auto enter = [](runtime::Communicator& c, std::uint64_t plan) {
    const std::vector<std::byte> data(100, std::byte{1});
    runtime::Exchange exchange(2, {data});
    c.enter_call(plan, 0, &exchange);
  };
  EXPECT_THAT(message_of_calls([&](runtime::Communicator& c) {
                if (c.rank() == 0) return c.barrier("x");
                enter(c, 1);
              }),
              testing::AllOf(HasSubstr("barrier 0"), HasSubstr("call 0")));
  EXPECT_THAT(
      message_of_calls([&](runtime::Communicator& c) { enter(c, c.rank() == 0 ? 0xa : 0xb); }),
      HasSubstr("same program, schedule and sizes"));
  EXPECT_THAT(message_of_calls([&](runtime::Communicator& c) {
                if (c.rank() == 1) raise(SIGKILL);
                enter(c, 1);
              }),
              HasSubstr("rank 1"));
}

}  // namespace
}  // namespace coconet
