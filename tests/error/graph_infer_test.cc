// What inference refuses, near misses included: found, needed, legal.
#include <gtest/gtest.h>

#include "coconet/graph/infer.h"
#include "tests/graph_fixture.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words
using Fn = PointwiseFn;

constexpr int dp = 0;
constexpr int tp = 1;
const Fixture kOne;                // mesh world(tp)
const Fixture kTwo{{"dp", "tp"}};  // mesh world(dp, tp)
const AxisList kAxis = {0};

TensorType of(const std::vector<std::string>& dims, const Placement& placement = Replicated{},
              DType dtype = f32) {
  return kOne.type(std::move(dtype), dims, {{0, placement}});
}
TensorType on(const std::vector<std::string>& dims,
              const std::vector<std::pair<int, Placement>>& placed) {
  return kTwo.type(f32, dims, placed);
}
void refused(const Op& op, const std::vector<TensorType>& operands,
             const std::vector<std::string>& words) {
  const bool one = operands.empty() || operands[0].layout.axes() == 1;
  SCOPED_TRACE(name_of(op));
  expect_refused([&] { infer(op, operands, one ? kOne.mesh() : kTwo.mesh()); }, words);
}

TEST(PointwiseRefusal, OfPartialNamesTheLegalForms) {
  const TensorType p = of({"N"}, partial());
  const TensorType r = of({"N"});
  refused(Pointwise{Fn::add}, {p, r},
          {"f32[N] partial(+) + f32[N]", "once per rank", "(1) add after the reduce",
           "all_reduce(a, +) + b", "(2) a + as_partial(b, +)"});
  refused(Pointwise{Fn::sub}, {r, p}, {"a - all_reduce(b, +)", "as_partial(a, +) - b"});
  refused(Pointwise{Fn::sqrt}, {p},
          {"sqrt(f32[N] partial(+))", "not linear", "legal: reduce first", "all_reduce(x, +)"});
  refused(Pointwise{Fn::abs}, {p}, {"abs is not linear"});
  refused(Pointwise{Fn::relu}, {p}, {"relu is not linear"});
  refused(Pointwise{Fn::mul}, {p, p}, {"only one operand partial"});
  refused(Pointwise{Fn::div}, {r, p}, {"only the dividend partial"});
  refused(Pointwise{Fn::max}, {p, p}, {"max is not linear"});
  refused(Pointwise{Fn::lt}, {p, r}, {"lt is not linear"});
  refused(Pointwise{Fn::mul}, {p, of({"N"}, sliced(0))}, {"the other operand replicated"});
  refused(Pointwise{Fn::mul}, {p, of({"N"}, local())}, {"the other operand replicated"});
  refused(Pointwise{Fn::add}, {p, of({"N"}, local())}, {"partial(+) and the other local"});
}

TEST(PointwiseRefusal, OfPartialNearMisses) {
  const TensorType max = of({"N"}, partial(Fold::max));
  refused(Pointwise{Fn::add}, {max, max}, {"no pointwise operation", "all_reduce(x, max)"});
  refused(Pointwise{Fn::max}, {max, max}, {"no pointwise operation"});
  refused(Pointwise{Fn::neg}, {max}, {"no pointwise operation"});
  refused(Pointwise{Fn::mul}, {of({"N"}, partial(Fold::prod)), of({})}, {"partial(prod)"});
  const TensorType integers = of({"N"}, partial(), i32);
  refused(Pointwise{Fn::div}, {integers, of({}, Replicated{}, i32)}, {"integer division"});
  refused(Cast{f16}, {of({"N"}, partial())}, {"cast to f16", "widening cast of partial(+)"});
  refused(Cast{f32}, {integers}, {"widening cast"});
  refused(Cast{f64}, {max}, {"widening cast"});
  // Linear on one axis only.
  refused(Pointwise{Fn::add},
          {on({"N"}, {{dp, partial()}, {tp, partial()}}), on({"N"}, {{dp, partial()}})},
          {"on axis tp", "once per rank"});
}

TEST(PointwiseRefusal, OfPlacementsThatDoNotJoin) {
  const auto bh = [](const Placement& p) { return of({"B", "H"}, p); };
  const Op add = Pointwise{Fn::add};
  refused(add, {bh(sliced(0)), bh(sliced(1))}, {"sliced(0)", "sliced(1)", "the same slice"});
  refused(add, {bh(sliced(0)), bh(sliced(0, 1))}, {"the same slice"});
  refused(add, {bh(sliced(0)), bh(sliced_flat())}, {"the same slice", "all_gather"});
  refused(add, {bh(sliced(0)), bh(local())}, {"sliced(0)", "local", "the same placement"});
  refused(add, {bh(rooted(0)), bh(rooted(1))}, {"rooted(0)", "rooted(1)"});
  refused(add, {bh(rooted(0)), bh(local())}, {"the same placement"});
  // Aligned at the right, the bias's dim 0 is the result's dim 1.
  refused(add, {bh(sliced(0)), of({"H"}, sliced(0))}, {"sliced(0)", "sliced(1)"});
  refused(add, {bh(replicated()), of({"H"}, sliced_flat())}, {"sliced(*)", "the result's shape"});
  refused(Pointwise{Fn::where},
          {of({"B", "H"}, sliced(0), boolean), bh(sliced(1)), bh(replicated())},
          {"the same slice"});
}

TEST(PointwiseRefusal, OfAxisListsThatAreNoPrefix) {
  const auto bh = [](const std::vector<std::pair<int, Placement>>& placed) {
    return on({"B", "H"}, placed);
  };
  const Placement s0 = sliced(0);
  const Op add = Pointwise{Fn::add};
  refused(add, {bh({{tp, s0}}), bh({{dp, s0}, {tp, s0}})}, {"does not cut the same piece"});
  refused(add, {bh({{dp, s0}, {tp, s0}}), bh({{tp, s0}, {dp, s0}})}, {"does not cut the same"});
  refused(add, {bh({{dp, s0}}), bh({{tp, s0}})}, {"does not cut the same piece"});
  refused(add, {bh({{dp, sliced_flat()}}), bh({{tp, sliced(1)}, {dp, sliced_flat()}})},
          {"does not cut the same piece", "all_gather"});
  refused(add, {bh({{dp, sliced_flat()}}), bh({{tp, sliced(1)}})}, {"does not cut the same"});
}

TEST(PointwiseRefusal, OfShapes) {
  refused(Pointwise{Fn::add}, {of({"B", "H"}), of({"B"})}, {"dims H and B", "literal 1"});
  refused(Pointwise{Fn::add}, {of({"N"}), of({"4*N"})}, {"needed equal dims"});
  refused(Pointwise{Fn::add}, {of({"2"}), of({"3"})}, {"dims 2 and 3"});
}

TEST(PointwiseRefusal, OfDtypes) {
  const auto n = [](const DType& dtype) { return of({"N"}, Replicated{}, dtype); };
  const DType t(DTypeKind::f16, "T");
  refused(Pointwise{Fn::add}, {n(f16), n(f32)}, {"f16 and f32", "cast(a, f32)", "cast(b, f16)"});
  refused(Pointwise{Fn::add}, {n(t), n(f16)}, {"T and f16", "nothing is promoted silently"});
  refused(Pointwise{Fn::add}, {n(i32), n(i64)}, {"i32 and i64"});
  refused(Pointwise{Fn::add}, {n(boolean), n(boolean)}, {"found bool", "or use and, or"});
  refused(Pointwise{Fn::lt}, {n(boolean), n(boolean)}, {"found bool"});
  refused(Pointwise{Fn::exp}, {n(i32)}, {"found i32, needed a floating dtype"});
  refused(Pointwise{Fn::pow}, {n(i32), n(i32)}, {"needed a floating dtype"});
  refused(Pointwise{Fn::pow}, {n(f32), n(i64)}, {"f32 and i64", "or an i32 exponent"});
  refused(Pointwise{Fn::logical_and}, {n(f32), n(f32)}, {"found f32, needed bool"});
  refused(Pointwise{Fn::logical_and}, {n(boolean), n(f32)}, {"bool and f32"});
  refused(Pointwise{Fn::where}, {n(f32), n(f32), n(f32)}, {"first operand of where is f32"});
  refused(Pointwise{Fn::where}, {n(boolean), n(f32), n(f16)}, {"f32 and f16"});
}

TEST(DropoutRefusal, SaysWhatItNeeds) {
  const TensorType p = of({});
  refused(Dropout{0}, {of({"N"}, partial()), p}, {"a mask of its own", "all_reduce(x, +)"});
  refused(Dropout{0}, {of({"N"}, Replicated{}, i32), p}, {"found i32"});
  refused(Dropout{0}, {of({"N"}), of({}, Replicated{}, f16)}, {"f16[]", "an f32 scalar"});
  refused(Dropout{0}, {of({"N"}), of({"N"})}, {"an f32 scalar"});
  refused(Dropout{0}, {of({"N"}), of({}, local())}, {"the probability is local"});
  refused(Dropout{0}, {of({"N"}, local()), of({}, partial())}, {"probability is partial(+)"});
}

TEST(MatmulRefusal, OfPlacements) {
  const Op op = Matmul{};
  const auto a = [](const Placement& p) { return of({"M", "K"}, p); };
  const auto b = [](const Placement& p) { return of({"K", "N"}, p); };
  refused(op, {a(sliced(0)), b(sliced(1))},
          {"f32[M,K] sliced(0), f32[K,N] sliced(1)", "rows", "columns", "all_gather(a) or"});
  refused(op, {a(sliced(0)), b(sliced(0))}, {"by rows and the second by the contracted dim"});
  refused(op, {a(sliced(1)), b(sliced(1))}, {"by the contracted dim and the second by columns"});
  refused(op, {a(partial()), b(sliced(1))}, {"the other partial(+)", "reduce the partial"});
  refused(op, {a(partial()), b(partial())}, {"needed: partial(+) with replicated"});
  refused(op, {a(partial(Fold::max)), b(replicated())}, {"all_reduce(x, max)"});
  refused(op, {a(partial()), b(local())}, {"needed: partial(+) with replicated"});
  refused(op, {a(local()), b(sliced(1))}, {"the other local"});
  refused(op, {a(rooted(0)), b(rooted(1))}, {"rooted(0)", "rooted(1)"});
  refused(op, {a(sliced_flat()), b(replicated())}, {"sliced(*)", "the contracted dim together"});
  refused(op, {a(sliced(0, 1)), b(replicated())}, {"sliced(0..1)", "the contracted dim together"});
  refused(op, {a(replicated()), b(sliced(0, 1))}, {"operand b is sliced(0..1)"});
}

TEST(MatmulRefusal, OfBatches) {
  const Op op = Matmul{};
  const auto a = [](const Placement& p) { return of({"B", "S", "M", "K"}, p); };
  const auto b = [](const Placement& p) { return of({"B", "S", "K", "N"}, p); };
  refused(op, {a(sliced(0)), b(sliced(1))}, {"leading dims"});
  refused(op, {a(sliced(1, 2)), b(sliced(1))}, {"by rows and the second by leading dims"});
  refused(op, {a(replicated()), b(sliced(1, 2))}, {"operand b is sliced(1..2)"});
  refused(op, {a(replicated()), of({"S", "K", "N"})}, {"numbers of dims"});
  refused(op, {a(replicated()), of({"S", "B", "K", "N"})}, {"leading dims B and S differ"});
}

TEST(MatmulRefusal, OfTransposedOperands) {
  const Op ta = Matmul{{}, true, false}, tb = Matmul{{}, false, true};
  const auto a = [](const Placement& p) { return of({"B", "K", "M"}, p); };
  const TensorType b = of({"K", "N"});
  refused(ta, {a(sliced(0, 1)), b},
          {"ta=true)", "operand a is sliced(0..1)", "the contracted dim"});
  refused(ta, {a(sliced(1, 2)), b}, {"operand a is sliced(1..2)"});
  refused(ta, {a(sliced(2)), of({"K", "N"}, sliced(0))},
          {"by rows and the second by the contract"});
  refused(ta, {of({"M", "K"}), b}, {"last dim but one of the first operand is M", "a[..., k, m]"});
  refused(tb, {of({"M", "K"}), b}, {"the last of the second N", "b[n, k]"});
  refused(tb, {of({"M", "K"}, sliced(0)), of({"N", "K"}, sliced(0))}, {"rows", "columns"});
}

TEST(MatmulRefusal, OfAxisLists) {
  refused(Matmul{},
          {on({"M", "K"}, {{tp, sliced(1)}}), on({"K", "N"}, {{dp, sliced(0)}, {tp, sliced(0)}})},
          {"does not cut the same piece"});
  refused(Matmul{},
          {on({"M", "K"}, {{dp, sliced(1)}, {tp, sliced(1)}}),
           on({"K", "N"}, {{tp, sliced(0)}, {dp, sliced(0)}})},
          {"does not cut the same piece"});
  refused(Matmul{}, {on({"M", "K"}, {{dp, sliced(1)}}), on({"K", "N"}, {{tp, sliced(0)}})},
          {"does not cut the same piece"});
}

TEST(MatmulRefusal, OfShapesAndDtypes) {
  const TensorType wide = of({"M", "K"}, Replicated{}, f64);
  refused(Matmul{f32}, {wide, of({"K", "N"}, Replicated{}, f64)},
          {"operands of f64 are multiplied to f32", "cast the operands or the product"});
  refused(Matmul{f64}, {of({"M", "K"}), of({"K", "N"})}, {"multiplied to f64"});
  const auto f = [](const std::vector<std::string>& dims, const DType& dtype) {
    return of(dims, Replicated{}, dtype);
  };
  refused(Matmul{}, {of({"M", "K"}), of({"H", "N"})}, {"is K", "H", "needed equal dims"});
  refused(Matmul{}, {of({"K"}), of({"K", "N"})}, {"numbers of dims"});
  refused(Matmul{}, {f({"M", "K"}, f16), f({"K", "N"}, f32)}, {"f16 and f32", "cast(a, f32)"});
  refused(Matmul{}, {f({"M", "K"}, i32), f({"K", "N"}, i32)}, {"found i32"});
  refused(Matmul{i32}, {f({"M", "K"}, f16), f({"K", "N"}, f16)}, {"found i32"});
}

TEST(LeafRefusal, OfDtypes) {
  refused(Constant{0.5, i32}, {}, {"0.5 meets an operand of dtype i32", "takes integers"});
  refused(Constant{true, f32}, {}, {"true meets an operand of dtype f32", "takes numbers"});
  refused(Constant{std::int64_t{1}, boolean}, {},
          {"1 meets an operand of dtype bool", "takes true or false"});
  refused(Constant{1e-8, f16}, {}, {"1e-08 meets an operand of dtype f16", "rounds to 0"});
  refused(Constant{70000.0, DType(DTypeKind::f16, "T")}, {},
          {"dtype T (f16), which takes smaller values: the largest is 65504"});
  refused(AxisSize{0, boolean}, {}, {"meets bool"});
  refused(Cast{i64}, {of({"B"}, partial(), i32)}, {"not the cast of their fold"});
  refused(Input{InputKind::tensor, of({"B"}, partial(), boolean), {}}, {}, {"bool is not folded"});
  refused(Input{InputKind::tensor, of({"B"}, rooted(-1)), {}}, {}, {"from 0"});
  refused(Input{InputKind::tensor, of({"B", "1"}, sliced(1)), {}}, {}, {"a literal 1"});
}

}  // namespace
}  // namespace coconet
