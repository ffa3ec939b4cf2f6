// Generated code whose temporaries are rings: the bits of the unscheduled program, for all numbers
// of ranks and chunks, and call after call.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "coconet/execute/run.h"
#include "coconet/plan/bind.h"
#include "tests/support/planned.h"

namespace coconet::tests {
namespace {

struct Form {
  const char* name;
  const char* program;
  const char* steps;
  std::vector<Sizes> sizes;
  std::vector<std::vector<int>> meshes;
  int rings;  // buffers
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

const std::vector<std::vector<int>> kLine = {{1}, {2}, {3}, {4}};

const char* const kProducts = R"(
mesh world(tp)
dim M, K, N
dtype T = f32
program p(x: T[M,K] sliced(1), w: T[K,N] sliced(0), b: T[N], r: T[M,N], v: T[N,K] sliced(1),
          u: T[K,N] sliced(0), scalar rate: f32 = 0.25) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  mid   = dropout(total + b, rate) + r
  inner = matmul(mid, v)
  act   = gelu(inner)
  back  = matmul(act, u)
  sum   = all_reduce(back, +)
  out   = sum * 0.5 + mid
  return out
}
)";

std::vector<Sizes> of_products() {
  return {{{"M", 13}, {"K", 6}, {"N", 5}}, {{"M", 32}, {"K", 8}, {"N", 4}},
          {{"M", 3}, {"K", 1}, {"N", 2}},  {{"M", 9}, {"K", 4}, {"N", 0}},
          {{"M", 0}, {"K", 4}, {"N", 3}},  {{"M", 200}, {"K", 33}, {"N", 17}}};
}

const char* const kScattered = R"(
mesh world(tp)
dim M, K, N
program p(x: f16[M,K] sliced(1), w: f16[K,N] sliced(0), r: f16[M,N] sliced(0)) {
  layer = matmul(x, w, out=f32)
  part  = reduce_scatter(layer, +, (0))
  y     = relu(part)
  out   = y + cast(r, f32)
  return out
}
)";

const char* const kGathered = R"(
mesh world(tp)
dim M, K, N
program p(x: bf16[M,K] sliced(0), v: bf16[K,N] sliced(1)) {
  y     = x * 2 + 1
  whole = all_gather(y)
  inner = matmul(whole, v)
  out   = relu(inner)
  return out
}
)";

const char* const kFlat = R"(
mesh world(dp)
dim M, N
program p(g: f32[M,N] local, q: f32[M,N]) {
  a     = g * 3 - 1
  total = all_reduce(a, +)
  out   = total * 0.5 + q
  return out
}
)";

const char* const kImages = R"(
mesh world(dp)
dim B, C, H
program p(x: f32[B,C,H,H] sliced(0), w: f32[C,C,3,3], v: f32[C,C,1,1]) {
  a    = relu(x)
  b    = conv2d(a, w, padding=1)
  c    = relu(b)
  d    = conv2d(c, v)
  out  = all_gather(d)
  return out
}
)";

const char* const kStages = R"(
mesh world(pp, tp)
dim B, S, H
program p(x: f32[B,S,H] local@pp partial(+)@tp, b: f32[H] local@pp) {
  total = all_reduce(x, +)@tp
  y     = total * 0.5 + b
  out   = shift(y, pp, 1)
  return out
}
)";

std::vector<Form> forms() {
  return {
      {"MatmulAllReduce", kProducts,
       "rs, ag = split(total, (0)) body, gather = reorder(ag, [mid]) ar = fuse(rs, body, gather) "
       "overlap(layer, ar)",
       of_products(), kLine, 1},
      {"MatmulAllReduceUnfused", kProducts, "rs, ag = split(total, (0)) overlap(layer, rs, ag)",
       of_products(), kLine, 2},
      {"AChainOfProducts", kProducts,
       "rs, ag = split(total, (0)) body, gather = reorder(ag, [mid]) first = fuse(rs, body, "
       "gather) "
       "rs2, ag2 = split(sum, (0)) hidden = fuse(act) "
       "overlap(layer, first, inner, hidden, back, rs2, ag2)",
       of_products(), kLine, 5},
      {"MatmulReduceScatter", kScattered, "post = fuse(part, y) overlap(layer, post, out)",
       of_products(), kLine, 3},
      {"AllGatherMatmul", kGathered, "send = fuse(y, whole) overlap(send, inner, out)",
       of_products(), kLine, 2},
      {"BlocksOfAFlatSlice",
       kFlat,
       "rs, ag = split(total) body, gather = reorder(ag, [out]) ar = fuse(rs, body, gather) "
       "overlap(a, ar)",
       {{{"M", 13}, {"N", 1000}}, {{"M", 3}, {"N", 7}}, {{"M", 9}, {"N", 1024}}},
       kLine,
       2},
      {"Images",
       kImages,
       "overlap(a, b, c, d, out)",
       {{{"B", 9}, {"C", 2}, {"H", 4}}, {{"B", 4}, {"C", 1}, {"H", 1}}},
       kLine,
       4},
      {"Stages",
       kStages,
       "rs, ag = split(total, (0..1)) body, gather = reorder(ag, [y, out]) send = fuse(body) "
       "overlap(rs, send, gather)",
       {{{"B", 3}, {"S", 5}, {"H", 3}}, {{"B", 1}, {"S", 40}, {"H", 2}}},
       {{1, 2}, {2, 1}, {2, 2}, {3, 2}},
       2},
  };
}

execute::RunRequest request_of(const Planned& sample, std::vector<std::int64_t> chunks) {
  execute::RunRequest request;
  request.setting = sample.setting;
  request.inputs = sample.inputs;
  request.knobs.chunks = std::move(chunks);
  request.kind = runtime::RankKind::thread;
  request.timeout = std::chrono::seconds(100);
  return request;
}

int rings_in(const plan::Plan& plan) {
  return static_cast<int>(std::ranges::count_if(
      plan.buffers, [](const plan::Buffer& buffer) { return buffer.ring > 0; }));
}

class Rings : public testing::TestWithParam<Form> {};

TEST_P(Rings, GiveTheBitsOfTheUnscheduledProgram) {
  const Form& form = GetParam();
  const auto make = [&](const char* steps, const Sizes& sizes, const std::vector<int>& mesh) {
    return planned(form.program, steps, sizes, mesh);
  };
  const runtime::Toolchain toolchain;
  const Planned any = make(form.steps, form.sizes[0], form.meshes[0]);
  const execute::Compiled scheduled(any.graph, {}, toolchain);
  const execute::Compiled plain(make("", form.sizes[0], form.meshes[0]).graph, {}, toolchain);
  EXPECT_EQ(rings_in(scheduled.plan()), form.rings) << print(scheduled.plan());
  int reached = 0;
  for (const Sizes& sizes : form.sizes) {
    for (const std::vector<int>& mesh : form.meshes) {
      const Planned sample = make(form.steps, sizes, mesh);
      const execute::RunResult first = execute::run(plain, request_of(make("", sizes, mesh), {}));
      for (const std::int64_t chunks : {1, 2, 3, 4, 7, 100}) {
        const execute::RunResult got = execute::run(scheduled, request_of(sample, {chunks}));
        EXPECT_TRUE(same_results(sample.graph, {got.outputs, got.storage, {}},
                                 {first.outputs, first.storage, {}}))
            << chunks << " chunks, " << sample.setting.mesh.ranks() << " ranks";
        const plan::BoundPlan bound =
            plan::bind(scheduled.plan(), sample.setting.sizes, sample.setting.mesh, {chunks});
        reached += std::ranges::any_of(
            bound.buffers, [](const plan::BoundBuffer& buffer) { return buffer.ring > 0; });
      }
    }
  }
  EXPECT_GT(reached, 5);
}

INSTANTIATE_TEST_SUITE_P(Forms, Rings, testing::ValuesIn(forms()),
                         [](const auto& info) { return std::string(info.param.name); });

class RingsAgain : public testing::TestWithParam<runtime::RankKind> {};

// What a call finds in a ring is of the call before. Ranks are ahead by turns, and each call's sums
// are twice those of the one before, exactly.
TEST_P(RingsAgain, CallAfterCall) {
  constexpr int kCalls = 30;
  const char* const program = R"(
mesh world(tp)
dim M, K, N
program p(x: f32[M,K] sliced(1), w: f32[K,N] sliced(0)) {
  layer = matmul(x, w)
  out   = all_reduce(layer, +)
  return out
}
)";
  const Sizes sizes = {{"M", 50}, {"K", 9}, {"N", 21}};
  const Planned sample =
      planned(program, "rs, ag = split(out, (0)) ar = fuse(rs, ag) overlap(layer, ar)", sizes, {3});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  ASSERT_EQ(rings_in(compiled.plan()), 1);
  execute::RunRequest request = request_of(sample, {8});
  const execute::RunResult first = execute::run(compiled, request);
  request.kind = GetParam();
  execute::run_on_ranks(compiled, request, [&](execute::RankCalls& rank) {
    const auto floats = [&](const char* name) {
      const std::span<std::byte> bytes = rank.own(name);
      return std::span<float>(reinterpret_cast<float*>(bytes.data()), bytes.size() / 4);
    };
    std::vector<float> want(50 * 21);
    std::memcpy(want.data(), first.outputs.at("out").at(rank.rank()).data(), want.size() * 4);
    for (int call = 0; call < kCalls; ++call) {
      std::ranges::fill(floats("out"), std::numeric_limits<float>::quiet_NaN());
      if (call % 3 == rank.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rank.call();
      if (!std::ranges::equal(floats("out"), want)) {
        throw UserError(ErrorKind::data, "other sums in call " + std::to_string(call));
      }
      for (float& element : floats("x")) element *= 2;
      for (float& element : want) element *= 2;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Thread, RingsAgain, testing::Values(runtime::RankKind::thread));
INSTANTIATE_TEST_SUITE_P(Process, RingsAgain, testing::Values(runtime::RankKind::process));

}  // namespace
}  // namespace coconet::tests
