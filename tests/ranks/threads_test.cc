// Ranks with several threads: every example under every schedule gives the bits of one thread, and
// what fails in a thread, or ends it, ends the call.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>

#include "coconet/execute/inputs.h"
#include "coconet/execute/run.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"
#include "tests/support/planned.h"
#include "tests/support/spawn.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using testing::HasSubstr;

struct Example {
  const char* name;
  Sizes sizes;
};

void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }

// On 1 to 4 ranks; dims that a mesh cuts evenly are multiples of 12.
std::vector<Example> examples() {
  Sizes list;
  list.lists["N_i"] = {5, 1027, 0, 3001};
  return {
      {"adam", {{"N", 5003}}},
      {"attention", {{"B", 2}, {"S", 9}, {"H", 72}}},
      {"attention_norm", {{"B", 2}, {"S", 9}, {"H", 72}}},
      {"block", {{"S", 13}, {"B", 2}, {"H", 24}, {"F", 70}, {"nh", 12}, {"hd", 2}}},
      {"clip", list},
      {"lamb", {{"N", 5003}}},
      {"lamb_list", list},
      {"mlp", {{"B", 2}, {"S", 9}, {"H", 48}}},
      {"mlp_norm", {{"B", 2}, {"S", 9}, {"H", 48}}},
      {"moe", {{"E", 12}, {"C", 37}, {"H", 5}, {"F", 9}}},
      {"momentum", {{"K", 70}, {"H", 45}}},
      {"pipeline", {{"B", 3}, {"S", 5}, {"H", 70}}},
      {"sgd", {{"N", 3001}}},
  };
}

// Of `axes` axes, with so many ranks: every shape.
std::vector<std::vector<int>> meshes(int axes, int ranks) {
  if (axes == 1) return {{ranks}};
  std::vector<std::vector<int>> out;
  for (int first = 1; first <= ranks; ++first) {
    if (ranks % first == 0) out.push_back({first, ranks / first});
  }
  return out;
}

execute::RunRequest request_for(const Planned& sample) {
  execute::RunRequest out;
  out.setting = sample.setting;
  out.inputs = sample.inputs;
  out.kind = runtime::RankKind::thread;
  out.timeout = std::chrono::seconds(100);
  out.thread_grain = 1;  // else such sizes are one thread's
  return out;
}

class Threads : public testing::TestWithParam<Example> {};

TEST_P(Threads, GiveTheBitsOfOne) {
  const File file = read_file(std::string("examples/") + GetParam().name + ".coco");
  std::vector<Schedule> schedules = file.schedules;
  schedules.emplace_back();  // unscheduled
  for (const Schedule& schedule : schedules) {
    const Graph graph = apply(file.program(), schedule).graph;
    const execute::Compiled compiled(graph, {}, runtime::Toolchain());
    for (int ranks = 1; ranks <= 4; ++ranks) {
      for (const std::vector<int>& mesh : meshes(graph.mesh().size(), ranks)) {
        const Planned sample = planned(file.program(), schedule, GetParam().sizes, mesh);
        execute::RunRequest request = request_for(sample);
        request.knobs.chunks.assign(compiled.plan().overlaps.size(), 3);
        std::optional<interp::Result> want;
        for (const int threads : {1, 2, 3, 5}) {
          request.threads = threads;
          request.knobs.threads = threads == 5 ? 4 : 0;
          const execute::RunResult run = execute::run(compiled, request);
          const interp::Result got{run.outputs, run.storage, {}};
          if (!want) want = got;
          EXPECT_TRUE(same_results(graph, got, *want))
              << "schedule '" << schedule.name << "' on " << ranks << " ranks of " << threads
              << " threads";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Threads, testing::ValuesIn(examples()),
                         [](const auto& info) { return std::string(info.param.name); });

// The wait of one call follows the parts of another, and the threads sleep in between.
TEST(ThreadsOfARank, WorkInCallAfterCall) {
  const Planned sample = planned(kNormStep, kNormStepSharded, {{"N", 9000}}, {2});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  std::vector<std::vector<std::byte>> after[2];  // by number of threads, then rank
  for (int more = 0; more < 2; ++more) {
    for (const runtime::RankKind kind : rank_kinds()) {
      execute::RunRequest request = request_for(sample);
      request.kind = kind;
      request.threads = more ? 3 : 1;
      request.repeat = 30;
      const execute::RunResult run = execute::run(compiled, request);
      for (const auto& pieces : run.storage) {
        after[more].insert(after[more].end(), pieces.second.begin(), pieces.second.end());
      }
    }
  }
  EXPECT_EQ(after[0], after[1]);
}

const char* const kDropped = R"(
mesh world(dp)
dim N
program dropped(x: f32[N] local, scalar k: f32) {
  y = all_reduce(dropout(x, k * 0.5), +)
  return y
}
)";

// k is 3 where it is not given.
TEST(ThreadsOfARank, ARateOutOfRangeFailsTheCallAsWithOneThread) {
  const Planned sample = planned(kDropped, "", {{"N", 3000}}, {2});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  execute::RunRequest request = request_for(sample);
  for (const runtime::RankKind kind : rank_kinds()) {
    request.kind = kind;
    for (const int threads : {1, 2, 5}) {
      request.threads = threads;
      fixture::expect_refused([&] { execute::run(compiled, request); },
                              {"the rate of a dropout must be from 0 to 1; found 1.5"});
    }
  }
}

TEST(ThreadsOfARank, ANumberThatIsNotLegalIsRefused) {
  const Planned sample = planned(kSum, "", {{"N", 10}}, {2});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  execute::RunRequest request = request_for(sample);
  for (const int threads : {-1, 1025}) {
    request.threads = threads;
    fixture::expect_refused([&] { execute::run(compiled, request); },
                            {"from 1 to 1024 threads", "found " + std::to_string(threads)});
  }
  for (const std::string threads : {"0", "-3", "1025"}) {
    const ToolResult result =
        run_tool("run examples/sgd.coco --ranks 2 --dim N=5 --threads " + threads);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("--threads must be from 1 to 1024; found " + threads));
  }
}

TEST(ThreadsOfARank, AreReported) {
  const std::string words = "run examples/sgd.coco --ranks 2 --dim N=50001 --verify";
  EXPECT_THAT(run_tool(words + " --threads 3").out, HasSubstr("threads    3 a rank\n"));
  EXPECT_EQ(json_at(run_tool(words + " --threads 2 --json").out, "threads"), "2");
  EXPECT_NE(json_at(run_tool(words + " --json").out, "threads"), "0");
}

TEST(ThreadsOfARankProcess, AMissingLibraryOfProductsFailsTheCallAsWithOneThread) {
  std::string first;
  for (const std::string threads : {"1", "3"}) {
    RunningTool tool(
        "run examples/attention.coco --ranks 2 --dim B=4,S=64,H=512 --threads " + threads,
        test_cache(), [] { setenv("COCONET_GEMM", "/no/such/library.so", 1); });
    const ToolResult result = tool.wait();
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, HasSubstr("a matmul needs the library coconet_gemm"));
    const std::string line = result.err.substr(0, result.err.find('\n'));
    if (first.empty()) first = line;
    EXPECT_EQ(line.substr(line.find(": a matmul")), first.substr(first.find(": a matmul")));
  }
}

TEST(ThreadsOfARankProcess, AKilledRankIsNamed) {
  RunningTool tool(
      "run examples/adam.coco --ranks 2 --threads 3 --schedule sharded --scalar t=1 "
      "--dim N=500021 --repeat 1000000");
  const std::vector<pid_t> ranks = tool.wait_for_ranks(2);
  const auto start = std::chrono::steady_clock::now();
  kill(ranks[1], SIGKILL);
  const ToolResult result = tool.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("error: rank 1 was killed by signal 9 (SIGKILL)"));
  EXPECT_TRUE(all_end(ranks));
}

}  // namespace
}  // namespace coconet::tests
