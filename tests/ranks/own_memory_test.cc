// Calls on memory of the caller's own: RankCalls::bind.
#include <gtest/gtest.h>

#include <cstring>

#include "coconet/execute/run.h"
#include "coconet/plan/staging.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"
#include "tests/support/planned.h"
#include "tests/support/spawn.h"
#include "tests/support/tool.h"

namespace coconet {
namespace {

using fixture::expect_refused;

void need(bool fine, const std::string& what) {
  if (!fine) throw UserError(ErrorKind::data, what);
}

// Of `count` elements, at an address that is a multiple of an element's size and of nothing more;
// its end is that of the allocation.
template <class T>
struct Memory {
  explicit Memory(std::size_t count) : all(count + 1), values(all.data() + 1, count) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(values); }
  std::vector<T> all;
  std::span<T> values;
};

execute::RunRequest request_of(const Planned& sample, runtime::RankKind kind) {
  execute::RunRequest request;
  request.setting = sample.setting;
  request.kind = kind;
  request.timeout = std::chrono::seconds(100);
  return request;
}

const char* const kStep = R"(
mesh world(dp)
dim N
program step(x: f32[N] local, state m: f32[N] sliced(*)) {
  y = all_reduce(x, +)
  m2 = update(m, m + shard(y, (*)))
  return y
}
)";

class OwnMemory : public testing::TestWithParam<runtime::RankKind> {
 protected:
  void run(int ranks, std::int64_t elements, std::vector<std::int64_t> chunks,
           const std::function<void(execute::RankCalls&)>& function,
           const std::vector<std::string>& staged = {"x", "y", "m"}) const {
    const Planned sample = planned(kStep, "", {{"N", elements}}, {ranks});
    const execute::Compiled compiled(sample.graph, {.staged = staged}, runtime::Toolchain());
    execute::RunRequest request = request_of(sample, GetParam());
    request.knobs.chunks = std::move(chunks);
    execute::run_on_ranks(compiled, request, function);
  }
};

// Other memory in every call, of 1 to 4 ranks; x and y apart or one; m is used where it is.
TEST_P(OwnMemory, IsBoundAnewBetweenCalls) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const std::int64_t n : {0, 1, 1500, 9001}) {
      run(ranks, n, {ranks % 3}, [&](execute::RankCalls& rank) {
        const auto count = static_cast<std::size_t>(n);
        Memory<float> m(rank.bytes("m") / sizeof(float));
        rank.bind("m", m.bytes());
        for (int call = 1; call <= 6; ++call) {
          Memory<float> x(count), apart(count);
          std::span<float> y = call % 2 == 0 ? x.values : apart.values;
          for (std::size_t i = 0; i < count; ++i) {
            x.values[i] = static_cast<float>(call * (rank.rank() + 1) + static_cast<int>(i % 5));
          }
          rank.bind("x", x.bytes());
          rank.bind("y", std::as_writable_bytes(y));
          rank.call();
          const int sum = ranks * (ranks + 1) / 2;
          for (std::size_t i = 0; i < count; ++i) {
            need(y[i] == static_cast<float>(call * sum + ranks * static_cast<int>(i % 5)),
                 "y of call " + std::to_string(call));
          }
          for (std::size_t i = 0; call % 2 == 1 && i < count; ++i) {
            need(x.values[i] ==
                     static_cast<float>(call * (rank.rank() + 1) + static_cast<int>(i % 5)),
                 "x is left as it was");
          }
          need(rank.own("y").data() == std::as_writable_bytes(y).data(), "own");
        }
        const float sums = static_cast<float>(21 * (ranks * (ranks + 1) / 2));
        for (const float element : m.values) need(element >= sums, "m goes from call to call");
      });
    }
  }
}

TEST_P(OwnMemory, WhatDoesNotFitIsRefused) {
  const auto refused = [&](const std::function<void(execute::RankCalls&)>& function,
                           const std::vector<std::string>& words,
                           const std::vector<std::string>& staged = {"x", "y", "m"}) {
    expect_refused([&] { run(1, 100, {}, function, staged); }, words);
  };
  refused([](auto& rank) { rank.call(); },
          {"a call needs memory for all that is staged; none has been bound to m, x, y on rank 0"});
  refused([](auto& rank) { rank.own("x"); }, {"x is staged, and no memory has been bound to it"});
  refused(
      [](auto& rank) {
        Memory<float> x(99);
        rank.bind("x", x.bytes());
      },
      {"bind: x, f32[N] local, takes 400 bytes on rank 0; found memory of 396 bytes"});
  refused(
      [](auto& rank) {
        std::vector<std::byte> x(401);
        const bool odd = reinterpret_cast<std::uintptr_t>(x.data()) % 2 == 1;
        rank.bind("x", std::span(x).subspan(odd ? 0 : 1, 400));
      },
      {"bind: x, f32[N] local, needs memory at a multiple of 4 bytes; found the address"});
  refused(
      [](auto& rank) {
        Memory<float> m(100);
        rank.bind("m", m.bytes());
      },
      {"bind: m is not staged; staged are x, y; the names are given where the plan is made"},
      {"x", "y"});
}

TEST_P(OwnMemory, ThatOverlapsIsRefused) {
  const auto call = [](std::size_t y, std::size_t m) {
    return [=](execute::RankCalls& rank) {
      Memory<float> all(400);
      const auto at = [&](std::size_t begin) { return all.bytes().subspan(4 * begin, 400); };
      rank.bind("x", at(0));
      rank.bind("y", at(y));
      rank.bind("m", at(m));
      rank.call();
    };
  };
  run(1, 100, {}, call(0, 100));
  expect_refused([&] { run(1, 100, {}, call(1, 200)); },
                 {"x and y have been bound to memory that overlaps in part"});
  expect_refused([&] { run(1, 100, {}, call(100, 0)); },
                 {"m and x have been bound to memory that overlaps, and one of them is written "
                  "while the other is still needed"});
}

// p2 is p's memory: one name will do, or both for one place.
// A call would write what its own packed weights were made of, and the next one use those.
TEST_P(OwnMemory, WhatIsHeldConstantIsNoOutputsMemory) {
  const Planned sample = planned(
      "mesh world(tp)\ndim N\nprogram p(x: f32[N,N], w: f32[N,N]) {\n"
      "  y = matmul(x, w)\n  z = y + x\n  return z\n}\n",
      "", {{"N", 8}}, {1});
  const execute::Compiled compiled(sample.graph, {.staged = {"x", "w", "z"}}, runtime::Toolchain());
  const auto calls = [&](bool constant, bool again) {
    execute::run_on_ranks(compiled, request_of(sample, GetParam()), [&](execute::RankCalls& rank) {
      Memory<float> x(64), w(64);
      std::fill(x.values.begin(), x.values.end(), 1.f);
      std::fill(w.values.begin(), w.values.end(), 2.f);
      rank.bind("x", x.bytes());
      rank.bind("w", w.bytes());
      rank.bind("z", w.bytes());
      if (constant) rank.hold_constant("w");
      if (again) rank.bind("w", w.bytes());  // says that it has changed
      rank.call();
      need(w.values[5] == 17, "x w + x");
    });
  };
  calls(false, false);
  calls(true, true);
  expect_refused([&] { calls(true, false); },
                 {"w and z have been bound to one memory, and w is held constant",
                  "bind them to memory apart, or do not hold it constant"});
}

TEST_P(OwnMemory, NamesOfOneBufferStandTogether) {
  const Planned sample = planned(
      "mesh world(dp)\ndim N\nprogram p(g: f32[N] local, p: f32[N]) {\n"
      "  p2 = update(p, p - all_reduce(g, +))\n  return p2\n}\n",
      "", {{"N", 50}}, {2});
  const execute::Compiled compiled(sample.graph, {.staged = {"g", "p", "p2"}},
                                   runtime::Toolchain());
  const auto run = [&](bool apart) {
    execute::run_on_ranks(compiled, request_of(sample, GetParam()), [&](execute::RankCalls& rank) {
      Memory<float> g(50), p(50), other(50);
      for (float& element : g.values) element = 2;
      rank.bind("g", g.bytes());
      rank.bind("p2", p.bytes());
      rank.call();
      need(p.values[49] == -4 && rank.own("p").data() == p.bytes().data(), "p by its other name");
      rank.bind("p", apart ? other.bytes() : p.bytes());
      rank.call();
      need(p.values[49] == -8, "p again");
    });
  };
  run(false);
  expect_refused([&] { run(true); }, {"p and p2 are names of one buffer"});
}

// It stands in no list of bound memory, but calls need it all the same.
TEST_P(OwnMemory, OfTheRuntimeIsRefused) {
  const Planned sample = planned(
      "mesh world(dp)\ndim N\nprogram p(x: f32[N], w: f32[N] local) {\n"
      "  y = x + 1\n  t = all_reduce(w, +)\n  z = t * y\n  return y, z\n}\n",
      "", {{"N", 300}}, {2});
  const execute::Compiled compiled(sample.graph, {.staged = {"x", "y"}}, runtime::Toolchain());
  expect_refused(
      [&] {
        execute::run_on_ranks(compiled, request_of(sample, GetParam()),
                              [](execute::RankCalls& rank) { rank.bind("y", rank.own("w")); });
      },
      {"the memory bound to y is the runtime's own, where w stands"});
}

// The given inputs are put where memory has been bound.
TEST_P(OwnMemory, InputsArePlacedInIt) {
  const Planned sample = planned(kStep, "", {{"N", 300}}, {2});
  const execute::Compiled compiled(sample.graph, {.staged = {"x"}}, runtime::Toolchain());
  execute::RunRequest request = request_of(sample, GetParam());
  request.inputs = sample.inputs;
  execute::run_on_ranks(compiled, request, [&](execute::RankCalls& rank) {
    Memory<float> x(300);
    rank.bind("x", x.bytes());
    rank.place_inputs();
    const interp::Bytes& want = sample.inputs.at("x")[rank.rank()];
    need(std::memcmp(x.bytes().data(), want.data(), want.size()) == 0, "x");
    rank.call();
  });
}

INSTANTIATE_TEST_SUITE_P(Thread, OwnMemory, testing::Values(runtime::RankKind::thread));
INSTANTIATE_TEST_SUITE_P(Process, OwnMemory, testing::Values(runtime::RankKind::process));

// By the tool: every rank's tensors in memory of its own, at no better address than dtypes need.
TEST(CliOwnMemory, GivesTheSameBits) {
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    for (const char* more : {" --ranks 1", " --ranks 3 --chunks 3", " --ranks 4"}) {
      tests::expect_verified("run examples/sgd.coco --schedule sharded --dim N=4099 --staged" +
                             std::string(more) + " --dtype G=" + dtype);
    }
  }
}

TEST(CliOwnMemory, OfListsChunksAndIntegers) {
  tests::expect_verified(
      "run examples/lamb_list.coco --schedule sharded --ranks 2 --scalar t=3 "
      "--dim N_i=5,1027,0 --staged");
  tests::expect_verified(
      "run examples/attention.coco --schedule overlapped --ranks 3 --dim B=2,S=5,H=24 --chunks 3 "
      "--staged x,out");
  tests::expect_verified(
      "mesh world(dp)\ndim N\nprogram p(x: i32[N] local, b: bool[N] local, k: i64[N] sliced(0), "
      "d: f64[N] local) {\n"
      "  y = all_reduce(x, max)\n  z = all_gather(k)\n  w = where(b, x, 0)\n"
      "  e = all_reduce(d, +)\n  return y, z, w, e\n}\n",
      "--ranks 3 --dim N=1031 --staged");
}

TEST(CliOwnMemory, IsOfPlansAndNamesEachOnce) {
  const auto expect_usage = [](const std::string& command, const std::string& words) {
    const tests::ToolResult result = tests::run_tool(command);
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  for (const std::string as : {"", " --as dot"}) {
    expect_usage("show examples/sgd.coco --staged" + as, "--staged is of plans; found --as ");
  }
  for (const std::string names : {"g,g", "g,,p", ",g"}) {
    expect_usage("show examples/sgd.coco --as plan --staged " + names,
                 "--staged takes names, as g,p, each once; found '" + names + "'");
  }
}

TEST(CliOwnMemory, IsRefusedForOtherNames) {
  const tests::ToolResult result =
      tests::run_tool("run examples/sgd.coco --ranks 2 --dim N=10 --staged g,q");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("staged: the program has no input, state or output q"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace coconet
