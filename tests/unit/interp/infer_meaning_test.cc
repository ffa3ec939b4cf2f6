// What inference accepts is true: on drawn layouts, the value that an operation computes piece by
// piece is the value that it computes on whole operands.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "coconet/interp/global_tensor.h"
#include "tests/unit/interp/sample.h"

namespace coconet::interp {
namespace {

constexpr int kAxes = 2;

// Draws layouts and operations; the same for the same seed.
class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}

  int below(int n) { return static_cast<int>(engine_() % n); }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[below(static_cast<int>(choices.size()))];
  }
  Slice slice(int rank) {
    if (rank == 0 || below(4) == 0) return Slice::all();
    const int first = below(rank);
    return Slice::range(first, below(3) == 0 ? first + below(rank - first) : first);
  }
  Layout layout(int rank) {
    Layout out(kAxes);
    AxisList order = {0, 1};
    if (below(2) == 0) std::swap(order[0], order[1]);
    for (int axis : order) {
      Placement placement = Replicated{};
      if (const int kind = below(5); kind >= 3 && rank > 0) {
        placement = Sliced{slice(rank)};
      } else if (kind == 2) {
        placement = Partial{Fold::sum};
      }
      try {
        out = out.with(axis, placement);
      } catch (const UserError&) {  // the smaller range comes after the larger
      }
    }
    return out;
  }
  AxisList axes() { return one_of<AxisList>({{0}, {1}, {0, 1}}); }

 private:
  std::mt19937 engine_;
};

class Trial {
 public:
  Trial(unsigned seed, std::vector<int> mesh)
      : draw(seed), sample(std::move(mesh), {{"B", 2}, {"S", 3}, {"H", 5}}), seed_(seed) {}

  NodeId input(const std::string& name, const Shape& shape) {
    TensorType type{f64, shape, draw.layout(static_cast<int>(shape.size()))};
    try {
      validate(type, Mesh{"world", {"a", "b"}});
    } catch (const UserError&) {  // a slice of a literal 1
      type.layout = sample.whole();
    }
    const std::int64_t copies = global_count(type);
    return sample.input(name, type, noise(copies, static_cast<int>(seed_) + name[0]));
  }
  // The node's value on every rank.
  NodeId whole(NodeId id) {
    const TensorType& type = sample.type(id);
    const AxisList partial = type.layout.axes_that_are<Partial>();
    const AxisList sliced = type.layout.axes_that_are<Sliced>();
    if (!partial.empty()) {
      const Fold fold = std::get<Partial>(type.layout.at(partial[0])).fold;
      id = sample.add(AllReduce{fold, partial}, {id});
    }
    const AxisList rooted = sample.type(id).layout.axes_that_are<Rooted>();
    if (!rooted.empty()) id = sample.add(Broadcast{{}, rooted}, {id});
    return sliced.empty() ? id : sample.add(AllGather{sliced}, {id});
  }
  // False if inference refuses the operation on the drawn operands.
  bool agrees(const Op& op, const std::vector<NodeId>& inputs, bool keeps_the_value = false) {
    NodeId out;
    try {
      out = sample.add_visible(op, inputs, "piecewise");
    } catch (const UserError&) {
      return false;
    }
    std::vector<NodeId> wholes;
    for (NodeId input : inputs) wholes.push_back(whole(input));
    const NodeId reference = keeps_the_value ? wholes[0] : sample.add(op, wholes);
    sample.output("got", whole(out));
    sample.output("want", sample.pointwise(PointwiseFn::add, {reference, sample.literal(0, f64)}));
    const std::vector<double> got = sample.value_of("got");
    const std::vector<double> want = sample.value_of("want");
    EXPECT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
      EXPECT_NEAR(got[i], want[i], 1e-9 * (1 + std::abs(want[i])))
          << "seed " << seed_ << ": " << name_of(op) << " of " << text(inputs) << " element " << i;
    }
    return true;
  }

  Draw draw;
  Sample sample;

 private:
  std::int64_t global_count(const TensorType& type) const {
    std::int64_t count = product_of(type.shape).bind(sample.setting.sizes);
    for (int axis : type.layout.axes_that_are<Partial>()) count *= sample.setting.mesh.sizes[axis];
    return count;
  }
  std::string text(const std::vector<NodeId>& inputs) const {
    std::string out;
    for (NodeId id : inputs) out += sample.type(id).text(Mesh{"world", {"a", "b"}}) + "; ";
    return out;
  }
  unsigned seed_;
};

const Dim kB = Dim::named("B"), kS = Dim::named("S"), kH = Dim::named("H");

// Runs `trial` on many seeds; at least `least` must be accepted, or the test would test nothing.
template <class F>
void many(int least, const F& trial) {
  int accepted = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    Trial t(seed, seed % 2 == 0 ? std::vector<int>{2, 3} : std::vector<int>{3, 2});
    if (trial(t)) ++accepted;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(accepted, least);
}

TEST(InferredMeaning, OfPointwise) {
  many(60, [](Trial& t) {
    using Fn = PointwiseFn;
    const Fn fn = t.draw.one_of<Fn>({Fn::add, Fn::sub, Fn::mul, Fn::max});
    const NodeId x = t.input("x", {kB, kS, kH});
    const Shape shape = t.draw.one_of<Shape>({{kB, kS, kH}, {kS, kH}, {kH}, {kS, Dim(1)}, {}});
    return t.agrees(Pointwise{fn}, {x, t.input("y", shape)});
  });
}

TEST(InferredMeaning, OfMatmul) {
  many(40, [](Trial& t) {
    const Matmul op{{}, t.draw.below(2) == 0, t.draw.below(2) == 0};
    Shape b = op.tb ? Shape{kS, kH} : Shape{kH, kS};
    if (t.draw.below(2) == 0) b.insert(b.begin(), kB);
    const NodeId x = t.input("x", op.ta ? Shape{kB, kH, kS} : Shape{kB, kS, kH});
    return t.agrees(op, {x, t.input("y", b)});
  });
}

TEST(InferredMeaning, OfReductions) {
  many(100, [](Trial& t) {
    const ReduceFn fn = t.draw.one_of<ReduceFn>({ReduceFn::sum, ReduceFn::max, ReduceFn::mean});
    const std::vector<int> dims = t.draw.one_of<std::vector<int>>({{}, {2}});
    const NodeId x = t.input("x", {kB, kS, kH});
    return t.agrees(Reduce{fn, dims}, {x});
  });
}

TEST(InferredMeaning, OfNorms) {
  many(60, [](Trial& t) {
    const NodeId x = t.input("x", {kB, kS, kH});
    if (t.draw.below(2) == 0) return t.agrees(Norm{}, {x});
    const NodeId eps = t.sample.literal(1e-3, f64);
    const NodeId gamma = t.sample.input("g", {f64, {kH}, t.sample.whole()}, noise(5, 3));
    if (t.draw.below(2) == 0) return t.agrees(RmsNorm{}, {x, gamma, eps});
    return t.agrees(LayerNorm{}, {x, gamma, gamma, eps});
  });
}

TEST(InferredMeaning, OfSoftmax) {
  many(60, [](Trial& t) {
    const std::vector<int> dims = t.draw.one_of<std::vector<int>>({{}, {2}});
    return t.agrees(Softmax{dims}, {t.input("x", {kB, kS, kH})});
  });
}

TEST(InferredMeaning, OfMovement) {
  many(60, [](Trial& t) {
    const NodeId x = t.input("x", {kB, kS, kH});
    if (t.draw.below(4) == 0) {
      const int dim = t.draw.below(3);
      return t.agrees(Concat{dim, {}}, {x, t.draw.below(2) == 0 ? x : t.input("y", {kB, kS, kH})});
    }
    const Op op = t.draw.one_of<Op>(
        {Transpose{{2, 0, 1}}, Transpose{{1, 0, 2}}, Transpose{{1, 2, 0}}, Reshape{{kB * kS, kH}},
         Reshape{{kB, kS * kH}}, Reshape{{kB * kS * kH}}, Reshape{{kB, Dim(1), kS, kH}},
         Narrow{2, Dim(1), Dim(3)}, Narrow{0, Dim(1), Dim(1)}});
    return t.agrees(op, {x});
  });
}

// Collectives and changes of placement keep the value.
TEST(InferredMeaning, OfCommunication) {
  many(60, [](Trial& t) {
    const AxisList axes = t.draw.axes();
    const Slice slice = t.draw.slice(3);
    const Op op =
        t.draw.one_of<Op>({AllReduce{Fold::sum, axes}, ReduceScatter{Fold::sum, slice, axes},
                           AllGather{axes}, ReduceTo{Fold::sum, 1, axes}, Shard{slice, axes},
                           RootOf{1, axes}, AsPartial{Fold::sum, axes}});
    return t.agrees(op, {t.input("x", {kB, kS, kH})}, true);
  });
}

}  // namespace
}  // namespace coconet::interp
