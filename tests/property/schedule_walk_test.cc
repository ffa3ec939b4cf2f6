// Random walks over legal steps: every exact step gives the bits of the program, every graph prints
// and parses back.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "coconet/graph/print.h"
#include "coconet/schedule/candidates.h"
#include "coconet/schedule/file.h"
#include "tests/support/meaning.h"

namespace coconet {
namespace {

const char* const kTwoAxes = R"(
mesh world(dp, tp)
dim N, H
program two(g: f32[N,H] local@dp sliced(1)@tp, p: f32[N,H] sliced(1)@tp,
            state m: f32[N,H] sliced(1)@tp, scalar lr: f32 = 0.1) {
  total = all_reduce(g, +)@dp
  avg = total / size(dp)
  m2 = update(m, 0.9 * m + avg)
  p2 = update(p, p - lr * m2)
  whole = all_gather(p2)@tp
  return whole
}
)";

const char* const kBothAxes = R"(
mesh world(dp, tp)
dim N
program both(g: f16[N] local@dp local@tp, p: f32[N], state v: f32[N]) {
  total = all_reduce(cast(g, f32), +)@[dp,tp]
  v2 = update(v, 0.5 * v + total * total)
  size_v = norm(v2)
  p2 = update(p, p - total / (size_v + 1))
  return p2, size_v
}
)";

const char* const kRows = R"(
mesh world(tp)
dim B, S, H
dtype T = f16
program rows(x: T[B,S,4*H] sliced(2), w: T[4*H,H] sliced(0), b: T[H], r: T[B,S,H], u: T[H,H]) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  act = gelu(total + b)
  top = max(act, [2])
  soft = exp(act - top)
  share = soft / sum(soft, [2])
  next = matmul(share + r, u)
  out = next * where(next > 0, next, 0.5)
  return out, share
}
)";

const char* const kDiamond = R"(
mesh world(tp)
dim N, H
program diamond(g: f32[N,H] local, h: f32[N,H] local, c: f32[N,H], s: f32[H], state m: f32[N,H]) {
  a = all_reduce(g, +)
  b = all_reduce(h, max)
  x = a * c + s
  y = b - c
  z = x * y + m
  m2 = update(m, z)
  big = max(z, [1])
  q = norm(y)
  out = z / (big + q)
  return out, x
}
)";

std::string example(const std::string& name) {
  std::string text;
  read_file("examples/" + name + ".coco", &text);
  return text;
}

// Walks of up to `most` steps; the first case that fails stops the test and shows its steps.
void walk(const std::string& text, const std::vector<Sizes>& sizes, int axes, int walks,
          std::size_t most = 7) {
  const Graph program = parse_file(text).programs.at(0);
  for (int seed = 0; seed < walks; ++seed) {
    std::mt19937 random(seed * 7919 + 13);
    const auto below = [&](std::size_t n) { return random() % n; };
    std::vector<int> mesh;
    for (int axis = 0; axis < axes; ++axis) mesh.push_back(1 + below(axes == 1 ? 6 : 3));
    const interp::Setting setting{sizes[below(sizes.size())], MeshSizes{mesh}, 5, 2};
    const auto globals = draw_inputs(program, setting, seed);
    const Applied unscheduled = start(program);
    Applied applied = unscheduled;
    std::string trail = "seed " + std::to_string(seed);
    for (std::size_t k = 0; k < most; ++k) {
      const std::vector<LegalStep> steps = legal_steps(applied);
      if (steps.empty()) break;
      // Any verb alike: of some there are many more.
      std::map<std::string, std::vector<Step>> by_verb;
      for (const auto& [step, exactness] : steps) by_verb[step.verb].push_back(step);
      const auto& [verb, some] = *std::next(by_verb.begin(), below(by_verb.size()));
      const Step& step = some[below(some.size())];
      trail += "\n  " + text_of(step);
      SCOPED_TRACE(trail);
      applied = apply(applied, step);
      ASSERT_EQ(parse_program(print(applied.graph)), applied.graph) << print(applied.graph);
      if (applied.exactness != Exactness::exact) break;
      expect_same_meaning(unscheduled, applied, globals, setting);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

const std::vector<Sizes> kVectors = {{{"N", 0}}, {{"N", 1}}, {{"N", 1031}}, {{"N", 3000}}};
const std::vector<Sizes> kTails = {{{"B", 2}, {"S", 3}, {"H", 5}},
                                   {{"B", 1}, {"S", 1}, {"H", 1}},
                                   {{"B", 3}, {"S", 0}, {"H", 2}},
                                   {{"B", 1}, {"S", 7}, {"H", 3}}};
const std::vector<Sizes> kMatrices = {
    {{"N", 5}, {"H", 7}}, {{"N", 1}, {"H", 1}}, {{"N", 0}, {"H", 3}}, {{"N", 40}, {"H", 60}}};

TEST(ScheduleWalk, Attention) { walk(example("attention"), kTails, 1, 40); }
TEST(ScheduleWalk, AttentionNorm) { walk(example("attention_norm"), kTails, 1, 40); }
TEST(ScheduleWalk, Adam) { walk(example("adam"), kVectors, 1, 30); }
TEST(ScheduleWalk, Lamb) { walk(example("lamb"), kVectors, 1, 30); }
TEST(ScheduleWalk, TwoAxes) { walk(kTwoAxes, kMatrices, 2, 40); }
TEST(ScheduleWalk, BothAxes) { walk(kBothAxes, kVectors, 2, 30); }
TEST(ScheduleWalk, Rows) { walk(kRows, kTails, 1, 40); }
TEST(ScheduleWalk, Diamond) { walk(kDiamond, kMatrices, 1, 40); }

}  // namespace
}  // namespace coconet
