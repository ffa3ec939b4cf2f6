// Whole programs: the self-attention tail and Adam, on several rank counts and placements.
#include <gtest/gtest.h>

#include <cmath>

#include "coconet/base/error.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

using Values = std::vector<double>;
const Dim kB = Dim::named("B"), kS = Dim::named("S"), kH = Dim::named("H"), kN = Dim::named("N");

// After the matmul, whose sum over ranks depends on their number: `layer` is given, as rank 0's
// piece of a partial value, the others' being zero.
Values attention_tail(int ranks, bool scattered) {
  Sample s({ranks}, {{"B", 2}, {"S", 3}, {"H", 5}});
  const Shape shape = {kB, kS, kH};
  Values layer = noise(30, 1);
  layer.resize(30 * ranks, 0);
  const NodeId x = s.input("layer", {f16, shape, partial()}, layer);
  const NodeId b = s.input("b", {f16, {kH}, s.whole()}, noise(5, 2));
  NodeId r = s.input("r", {f16, shape, s.whole()}, noise(30, 3));
  NodeId total;
  if (scattered) {
    total = s.add(ReduceScatter{Fold::sum, Slice::range(0, 1), {0}}, {x}, "total");
    r = s.add(Shard{Slice::range(0, 1), {0}}, {r});
  } else {
    total = s.add(AllReduce{Fold::sum, {0}}, {x}, "total");
  }
  const NodeId biased = s.pointwise(PointwiseFn::add, {total, b});
  const NodeId drop = s.add(Dropout{0}, {biased, s.literal(0.25)}, "drop");
  NodeId out = s.pointwise(PointwiseFn::add, {drop, r}, "sum");
  if (scattered) out = s.add(AllGather{{0}}, {out}, "gather");
  s.output("out", out);
  return s.value_of("out");
}

TEST(Programs, AttentionTailIsTheSameOnAnyRankCountAndWhenScattered) {
  const Values want = attention_tail(1, false);
  for (int ranks = 1; ranks <= 5; ++ranks) {
    EXPECT_EQ(attention_tail(ranks, false), want);
    EXPECT_EQ(attention_tail(ranks, true), want);
  }
}

TEST(Programs, AttentionOnRanksWithinTheErrorOfItsSums) {
  const auto run = [](int ranks) {
    Sample s({ranks}, {{"B", 2}, {"S", 3}, {"H", 8}});
    const NodeId x = s.input("x", {f32, {kB, kS, kH}, sliced(2)}, noise(48, 1));
    const NodeId w = s.input("w", {f32, {kH, kH}, sliced(0)}, noise(64, 2));
    const NodeId layer = s.add(Matmul{}, {x, w}, "layer");
    s.output("out", s.add(AllReduce{Fold::sum, {0}}, {layer}, "out"));
    return s.value_of("out");
  };
  const Values want = run(1);
  for (int ranks = 2; ranks <= 5; ++ranks) {
    const Values got = run(ranks);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6);
  }
}

// The adam of examples/ on equal gradients of all ranks, a power of two, so the mean is exact.
struct Adam {
  Sample s;
  Adam(int ranks, std::int64_t n) : s({ranks}, {{"N", n}}) {
    const auto op = [&](PointwiseFn fn, NodeId a, NodeId b) { return s.pointwise(fn, {a, b}); };
    const auto mul = [&](double a, NodeId b) { return op(PointwiseFn::mul, s.literal(a), b); };
    Values gradients;
    for (int rank = 0; rank < ranks; ++rank) {
      for (double value : noise(n, 5)) gradients.push_back(value);
    }
    const NodeId g = s.input("g", {f16, {kN}, local()}, gradients);
    const NodeId p = s.input("p", {f32, {kN}, s.whole()}, noise(n, 6));
    const NodeId m = s.input("m", {f32, {kN}, s.whole()}, noise(n, 7), InputKind::state);
    const NodeId t = s.input("t", {i32, {}, s.whole()}, {3}, InputKind::scalar);
    const NodeId lr = s.add(Input{InputKind::scalar, {f32, {}, s.whole()}, 1e-3}, {}, "lr");
    const NodeId total = s.add(AllReduce{Fold::sum, {0}}, {s.add(Cast{f32}, {g})}, "total");
    const NodeId avg = s.pointwise(PointwiseFn::div, {total, s.add(AxisSize{0, f32}, {})}, "avg");
    const NodeId next = op(PointwiseFn::add, mul(0.9, m), mul(0.1, avg));
    const NodeId m2 = s.add(Update{}, {m, next}, "m2");
    const NodeId power = op(PointwiseFn::pow, s.literal(0.9), t);
    const NodeId mh =
        s.pointwise(PointwiseFn::div, {m2, op(PointwiseFn::sub, s.literal(1), power)}, "mh");
    const NodeId step = op(PointwiseFn::mul, lr, mh);
    s.output("p2", s.add(Update{}, {p, op(PointwiseFn::sub, p, step)}, "p2"));
  }
};

TEST(Programs, AdamUpdatesParametersAndState) {
  const std::int64_t n = 1500;
  const Adam adam(2, n);
  const Result result = adam.s.run();
  ASSERT_EQ(result.storage.size(), 2u);
  EXPECT_EQ(result.storage.at("p"), result.outputs.at("p2"));
  const Values g = noise(n, 5), p = noise(n, 6), m = noise(n, 7);
  const Values p2 = numbers(DTypeKind::f32, result.storage.at("p")[1]);
  const Values m2 = numbers(DTypeKind::f32, result.storage.at("m")[1]);
  for (std::int64_t i = 0; i < n; ++i) {
    const double momentum = 0.9 * m[i] + 0.1 * g[i];
    ASSERT_NEAR(m2[i], momentum, 1e-4);  // g is rounded to f16
    ASSERT_NEAR(p2[i], p[i] - 1e-3 * momentum / (1 - 0.9 * 0.9 * 0.9), 1e-6);
  }
  for (int ranks : {1, 4}) {
    EXPECT_EQ(Adam(ranks, n).s.run().storage.at("p")[0], result.storage.at("p")[0]);
  }
}

TEST(Programs, InputsAreChecked) {
  const Adam adam(2, 4);
  const Graph graph = adam.s.graph();
  const Result result = adam.s.run();
  std::map<std::string, Pieces> inputs;
  for (const char* name : {"g", "p", "m", "t"}) {
    inputs[name] = result.values[graph.find(name).index];
  }
  EXPECT_NO_THROW(run(graph, inputs, adam.s.setting));
  const auto message = [&](const std::map<std::string, Pieces>& changed) {
    try {
      run(graph, changed, adam.s.setting);
    } catch (const UserError& error) {
      return error.message();
    }
    return std::string();
  };
  auto missing = inputs;
  missing.erase("p");
  EXPECT_EQ(message(missing), "input p has no value, and no default; needed is f32[N]");
  auto unknown = inputs;
  unknown["q"] = {};
  EXPECT_EQ(message(unknown), "the program has no input q; its inputs are g, p, m, t, lr");
  auto small = inputs;
  small["m"][1].resize(8);
  EXPECT_EQ(message(small), "input m has 8 bytes on rank 1; its type needs 16");
  auto few = inputs;
  few["t"].pop_back();
  EXPECT_NE(message(few).find("input t has 1 pieces"), std::string::npos);
}

}  // namespace
}  // namespace coconet::interp
