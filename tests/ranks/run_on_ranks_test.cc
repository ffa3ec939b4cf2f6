// Calls whose times and number the caller decides: execute::run_on_ranks.
#include <gtest/gtest.h>

#include "coconet/execute/run.h"
#include "coconet/execute/verify.h"
#include "tests/refusal.h"
#include "tests/support/planned.h"

namespace coconet {
namespace {

using fixture::expect_refused;

constexpr int kRanks = 3;

std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

class RunOnRanks : public testing::TestWithParam<runtime::RankKind> {
 protected:
  Planned sample_ = planned(
      "mesh world(dp)\ndim N\n"
      "program p(x: f32[N] local, state m: f32[N] sliced(*), scalar k: f32 = 2) {\n"
      "  y = all_reduce(x, +)\n"
      "  m2 = update(m, m + k * shard(y, (*)))\n"
      "  return y\n}\n",
      "", {{"N", 1500}}, {kRanks});
  execute::Compiled compiled_{sample_.graph, {}, runtime::Toolchain()};

  void run(const std::function<void(execute::RankCalls&)>& function) const {
    execute::RunRequest request;
    request.setting = sample_.setting;
    request.kind = GetParam();
    request.timeout = std::chrono::seconds(100);
    execute::run_on_ranks(compiled_, request, function);
  }
};

void need(bool fine, const std::string& what) {
  if (!fine) throw UserError(ErrorKind::data, what);
}

// Inputs left out are zeros, the function's to fill; states go from call to call, on each rank the
// piece that it holds: 1,024, 476 and 0 elements.
TEST_P(RunOnRanks, CallsFollowEachOtherInPlace) {
  run([](execute::RankCalls& rank) {
    const std::span<float> x = floats(rank.own("x")), y = floats(rank.own("y"));
    const std::span<float> m = floats(rank.own("m"));
    const std::size_t held[] = {1024, 476, 0};
    need(x.size() == 1500 && y.size() == 1500 && m.size() == held[rank.rank()], "pieces");
    rank.call();
    need(y[0] == 0 && y[1499] == 0, "zeros");
    for (int call = 1; call <= 20; ++call) {
      for (float& element : x) element = static_cast<float>(call * (rank.rank() + 1));
      rank.call();
      need(y[0] == 6.f * call && y[1499] == 6.f * call, "y of call " + std::to_string(call));
      for (const float element : m) need(element == 6.f * call * (call + 1), "m");
    }
    rank.place_inputs();  // none is given but k
    need(x[0] == 20.f * (rank.rank() + 1), "x as it was");
  });
}

TEST_P(RunOnRanks, AnUnknownNameIsRefusedWithThoseThereAre) {
  expect_refused([&] { run([](execute::RankCalls& rank) { rank.own("z"); }); },
                 {"no input, state or output z; there are x, m, k, y"});
  expect_refused([&] { run([](execute::RankCalls& rank) { rank.own("y", DTypeKind::i32); }); },
                 {"y has dtype f32; found a call for i32"});
  run([](execute::RankCalls& rank) { need(rank.own("m", DTypeKind::f32).data(), "m"); });
}

// Each value of w under the one before it in the same place; then one that nothing is said of.
TEST_P(RunOnRanks, AConstantInputMayBecomeAnotherConstant) {
  const Planned product = planned(
      "mesh world(tp)\ndim M, N, K\n"
      "program p(x: f32[M,K] sliced(1), w: f32[K,N] sliced(0), state s: f32[N]) {\n"
      "  y = all_reduce(matmul(x, w), +)\n"
      "  s2 = update(s, s + 1)\n"
      "  return y\n}\n",
      "", {{"M", 70}, {"N", 33}, {"K", 6}}, {kRanks});
  const execute::Compiled compiled(product.graph, {}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting = product.setting;
  request.kind = GetParam();
  execute::run_on_ranks(compiled, request, [](execute::RankCalls& rank) {
    const std::span<float> x = floats(rank.own("x")), w = floats(rank.own("w"));
    const std::span<float> y = floats(rank.own("y"));
    std::fill(x.begin(), x.end(), 1.f);
    const auto expect = [&](float value, bool hold, const std::string& what) {
      std::fill(w.begin(), w.end(), value);
      if (hold) rank.hold_constant("w");
      for (int call = 0; call < 3; ++call) {
        rank.call();
        for (const float element : y) need(element == 6 * value, what);
      }
    };
    expect(1, false, "not constant");
    expect(2, true, "constant");
    expect(3, true, "another constant");
    rank.place_inputs();
    std::fill(x.begin(), x.end(), 1.f);
    expect(4, false, "placed anew");
  });
  for (const std::string name : {"s", "y"}) {
    expect_refused(
        [&] {
          execute::run_on_ranks(compiled, request,
                                [&](execute::RankCalls& rank) { rank.hold_constant(name); });
        },
        {"found " + name + "; only an input that no call writes can be held constant"});
  }
}

// It would be a zero, and nothing would say so.
TEST_P(RunOnRanks, AnInputThatNobodyGivesIsRefused) {
  expect_refused(
      [&] { run([](execute::RankCalls& rank) { rank.call(); }); },
      {"calls without a value of x; needed is each before the first call: in RunRequest::inputs"});
  run([](execute::RankCalls& rank) {
    rank.own("x");  // k has a default, m is a state
    rank.call();
  });
}

// What ranks fill in themselves is compared as what the request gives is.
TEST_P(RunOnRanks, ReplicatedInputsThatDifferAreRefused) {
  const Planned sample = planned(
      "mesh world(dp)\ndim N\n"
      "program p(x: f32[N] local, r: f32[N], scalar k: f32) {\n"
      "  y = all_reduce(x, +) * k + r\n  return y\n}\n",
      "", {{"N", 1500}}, {kRanks});
  for (const auto& staged : std::vector<std::vector<std::string>>{{}, {"x", "r", "y"}}) {
    const execute::Compiled compiled(sample.graph, {.staged = staged}, runtime::Toolchain());
    execute::RunRequest request;
    request.setting = sample.setting;
    request.kind = GetParam();
    const auto run_with = [&](const std::string& name, std::size_t at) {
      execute::run_on_ranks(compiled, request, [&](execute::RankCalls& rank) {
        std::vector<std::vector<float>> memory(staged.size(), std::vector<float>(1500, 1));
        for (std::size_t i = 0; i < staged.size(); ++i) {
          rank.bind(staged[i], std::as_writable_bytes(std::span(memory[i])));
        }
        floats(rank.own("x"))[0] = static_cast<float>(rank.rank());  // local: may differ
        floats(rank.own("r"))[0] = floats(rank.own("k"))[0] = 1;
        if (rank.rank() == 1) floats(rank.own(name))[at] = -1;
        rank.call();
      });
    };
    run_with("x", 3);
    for (const std::size_t at : {0, 1, 1499}) {
      expect_refused([&] { run_with("r", at); }, {"the replicated inputs differ"});
    }
    expect_refused([&] { run_with("k", 0); }, {"the replicated inputs differ"});
    request.check_inputs = false;
    run_with("r", 1);
  }
}

// It is not a fault of the library.
TEST_P(RunOnRanks, AnExceptionOfTheFunctionIsSaidToBeIts) {
  expect_refused(
      [&] {
        run([](execute::RankCalls& rank) {
          if (rank.rank() == 1) throw std::runtime_error("mine");
        });
      },
      {"the function of rank 1 threw an exception: mine"});
  expect_refused([&] { run([](execute::RankCalls&) { throw 5; }); },
                 {"threw an exception that is not a std::exception"});
}

// A misspelt scalar would have its default.
TEST_P(RunOnRanks, AnInputOfAnotherNameIsRefused) {
  execute::RunRequest request;
  request.setting = sample_.setting;
  request.inputs = sample_.inputs;
  request.inputs["kk"] = request.inputs.at("k");
  const std::vector<std::string> words = {"no input kk; did you mean `k`?; its inputs are x, m, k"};
  expect_refused([&] { execute::run(compiled_, request); }, words);
  expect_refused([&] { execute::run_on_ranks(compiled_, request, [](auto&) {}); }, words);
  request.inputs.erase("kk");
  request.inputs.erase("m");
  expect_refused([&] { execute::run(compiled_, request); },
                 {"input m has no value, and no default; needed is f32[N] sliced(*)"});
  request.setting.sizes["Z"] = 3;
  expect_refused([&] { execute::run_on_ranks(compiled_, request, [](auto&) {}); },
                 {"no dim Z; the program has N"});
  request.setting.mesh = {{kRanks, 1}};
  expect_refused([&] { execute::run(compiled_, request); }, {"found 2 mesh sizes"});
}

TEST_P(RunOnRanks, VerifyTakesDefaultsToo) {
  execute::RunRequest request;
  request.setting = sample_.setting;
  request.kind = GetParam();
  request.inputs = sample_.inputs;
  request.inputs.erase("k");
  const execute::CompiledForVerify checked(sample_.graph, sample_.graph, Exactness::reassociates,
                                           runtime::Toolchain());
  const execute::RunResult result = execute::run(compiled_, request);
  const execute::Verification found = execute::verify(checked, request, request, result);
  EXPECT_TRUE(found.within_bound) << found.first_outside;
  EXPECT_TRUE(found.storage.at("m").bit_equal_to_unscheduled);
}

// At the same number the same is dropped; ranks that count otherwise are told.
TEST_P(RunOnRanks, CallsOfOneNumberDropTheSame) {
  const Planned sample =
      planned("mesh world(dp)\ndim N\nprogram p(x: f32[N]) { y = dropout(x, 0.5); return y }", "",
              {{"N", 1500}}, {2});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting = sample.setting;
  request.kind = GetParam();
  request.timeout = std::chrono::seconds(100);
  const auto run = [&](const std::function<void(execute::RankCalls&)>& function) {
    execute::run_on_ranks(compiled, request, function);
  };
  run([](execute::RankCalls& rank) {
    std::ranges::fill(floats(rank.own("x")), 1.f);
    const auto call = [&] {
      rank.call();
      const std::span<float> y = floats(rank.own("y"));
      return std::vector<float>(y.begin(), y.end());
    };
    rank.count_from(7);
    const std::vector<float> seventh = call(), eighth = call();
    rank.count_from(7);
    need(call() == seventh, "call 7");
    need(call() == eighth && eighth != seventh, "call 8");
    rank.count_from(0);
    need(call() != seventh, "call 0");
  });
  expect_refused(
      [&] {
        run([](execute::RankCalls& rank) {
          rank.own("x");
          rank.count_from(static_cast<std::uint64_t>(3 + rank.rank()));
          rank.call();
        });
      },
      {"call 3", "call 4"});
}

INSTANTIATE_TEST_SUITE_P(Thread, RunOnRanks, testing::Values(runtime::RankKind::thread));
INSTANTIATE_TEST_SUITE_P(Process, RunOnRanks, testing::Values(runtime::RankKind::process));

}  // namespace
}  // namespace coconet
