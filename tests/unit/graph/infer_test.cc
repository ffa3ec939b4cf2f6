// What operations accept, and the type they give (docs/language.md). Refusals: error/graph_*.
#include "coconet/graph/infer.h"

#include <gtest/gtest.h>

#include "tests/unit/graph/infer_table.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

using Fn = PointwiseFn;

TEST(Infer, PointwiseJoinsPlacements) {
  const auto bsh = [](const Placement& p) { return of({"B", "S", "H"}, p); };
  const Op add = Pointwise{Fn::add};
  expect_all(
      {{add, {bsh(replicated()), bsh(replicated())}, "f32[B,S,H]"},
       {add, {bsh(sliced(2)), bsh(replicated())}, "f32[B,S,H] sliced(2)"},
       {add, {bsh(replicated()), bsh(sliced(0, 1))}, "f32[B,S,H] sliced(0..1)"},
       {add, {bsh(sliced_flat()), bsh(sliced_flat())}, "f32[B,S,H] sliced(*)"},
       {add, {bsh(sliced_flat()), of({"H"})}, "f32[B,S,H] sliced(*)"},
       {add, {bsh(sliced(0)), of({"H"})}, "f32[B,S,H] sliced(0)"},
       {add, {bsh(sliced(2)), of({"H"}, sliced(0))}, "f32[B,S,H] sliced(2)"},  // aligned right
       {add, {of({"H"}, sliced(0)), bsh(replicated())}, "f32[B,S,H] sliced(2)"},
       {add, {bsh(local()), bsh(replicated())}, "f32[B,S,H] local"},
       {add, {bsh(local()), bsh(local())}, "f32[B,S,H] local"},
       {add, {bsh(rooted(1)), of({})}, "f32[B,S,H] rooted(1)"},
       {add, {bsh(rooted(1)), bsh(rooted(1))}, "f32[B,S,H] rooted(1)"},
       {add, {of({"B", "1"}), of({"1", "H"})}, "f32[B,H]"},
       {add, {of({"B", "1"}, sliced(0)), of({"H"})}, "f32[B,H] sliced(0)"},
       {add, {of({}), of({})}, "f32[]"}},
      kOne.mesh());
}

TEST(Infer, PointwiseOnPartialIsLinear) {
  const TensorType p = of({"N"}, partial());
  const TensorType r = of({"N"});
  expect_all({{Pointwise{Fn::add}, {p, p}, "f32[N] partial(+)"},
              {Pointwise{Fn::sub}, {p, p}, "f32[N] partial(+)"},
              {Pointwise{Fn::mul}, {p, r}, "f32[N] partial(+)"},
              {Pointwise{Fn::mul}, {of({}), p}, "f32[N] partial(+)"},
              {Pointwise{Fn::div}, {p, of({})}, "f32[N] partial(+)"},
              {Pointwise{Fn::neg}, {p}, "f32[N] partial(+)"},
              {Cast{f64}, {p}, "f64[N] partial(+)"},
              {Cast{f32}, {of({"N"}, partial(), f16)}, "f32[N] partial(+)"},
              {Cast{f32}, {of({"N"}, partial(), bf16)}, "f32[N] partial(+)"}},
             kOne.mesh());
  // Bilinear over two axes.
  expect_all({{Pointwise{Fn::mul},
               {on({"N"}, {{dp, partial()}}), on({"N"}, {{tp, partial()}})},
               "f32[N] partial(+)@dp partial(+)@tp"},
              {Pointwise{Fn::add},
               {on({"N"}, {{dp, partial()}, {tp, sliced(0)}}), on({"N"}, {{dp, partial()}})},
               "f32[N] sliced(0)@tp partial(+)@dp"}},
             kTwo.mesh());
}

TEST(Infer, PointwiseDtypes) {
  const auto n = [](const DType& dtype) { return of({"N"}, Replicated{}, dtype); };
  expect_all({{Pointwise{Fn::lt}, {n(f32), n(f32)}, "bool[N]"},
              {Pointwise{Fn::eq}, {n(boolean), n(boolean)}, "bool[N]"},
              {Pointwise{Fn::logical_and}, {n(boolean), n(boolean)}, "bool[N]"},
              {Pointwise{Fn::logical_not}, {n(boolean)}, "bool[N]"},
              {Pointwise{Fn::where}, {n(boolean), n(i64), n(i64)}, "i64[N]"},
              {Pointwise{Fn::where}, {n(boolean), n(boolean), n(boolean)}, "bool[N]"},
              {Pointwise{Fn::pow}, {n(f32), n(i32)}, "f32[N]"},
              {Pointwise{Fn::pow}, {n(f64), n(f64)}, "f64[N]"},
              {Pointwise{Fn::div}, {n(i32), n(i32)}, "i32[N]"},
              {Pointwise{Fn::max}, {n(i32), n(i32)}, "i32[N]"},
              {Pointwise{Fn::exp}, {n(bf16)}, "bf16[N]"},
              {Cast{boolean}, {n(f32)}, "bool[N]"},
              {Cast{f16}, {of({"N"}, sliced(0))}, "f16[N] sliced(0)"},
              {Cast{f16}, {of({"N"}, local())}, "f16[N] local"}},
             kOne.mesh());
}

TEST(Infer, SlicesOfSeveralAxesCutTheSamePieces) {
  const Op add = Pointwise{Fn::add};
  const Placement s0 = sliced(0);
  const auto type = [](const std::vector<std::pair<int, Placement>>& placed) {
    return on({"B", "S", "H"}, placed);
  };
  expect_all(
      {{add, {type({{dp, s0}}), type({{dp, s0}, {tp, s0}})}, "f32[B,S,H] sliced(0)@[dp,tp]"},
       {add, {type({{tp, s0}}), type({{tp, s0}, {dp, s0}})}, "f32[B,S,H] sliced(0)@[tp,dp]"},
       {add, {type({{dp, s0}}), type({{tp, sliced(2)}})}, "f32[B,S,H] sliced(0)@dp sliced(2)@tp"},
       {add,
        {type({{tp, sliced(2)}, {dp, sliced_flat()}}), type({{tp, sliced(2)}})},
        "f32[B,S,H] sliced(2)@tp sliced(*)@dp"},
       {add,
        {type({{dp, s0}, {tp, sliced(0, 1)}}), on({"H"}, {})},
        "f32[B,S,H] sliced(0)@dp sliced(0..1)@tp"}},
      kTwo.mesh());
  // Slices that commute may be missing in any order.
  const Fixture three{{"a", "b", "c"}};
  const TensorType both = three.type(f32, {"B", "S"}, {{0, s0}, {1, sliced(1)}, {2, sliced(0, 1)}});
  const TensorType second = three.type(f32, {"B", "S"}, {{1, sliced(1)}});
  expect_all({{add, {both, second}, "f32[B,S] sliced(0)@a sliced(1)@b sliced(0..1)@c"}},
             three.mesh());
}

TEST(Infer, DropoutKeepsItsOperandsType) {
  const TensorType p = of({});
  expect_all({{Dropout{0}, {of({"N"}, sliced(0), f16), p}, "f16[N] sliced(0)"},
              {Dropout{0}, {of({"N"}, local()), p}, "f32[N] local"},
              {Dropout{0}, {of({"N"}, local()), of({}, local())}, "f32[N] local"},
              {Dropout{0}, {of({"N"}, rooted(2)), p}, "f32[N] rooted(2)"}},
             kOne.mesh());
}

TEST(Infer, Matmul) {
  const Op op = Matmul{};
  const auto a = [](const Placement& p) { return of({"B", "S", "K"}, p); };
  const auto b = [](const Placement& p) { return of({"K", "N"}, p); };
  const auto batched = [](const Placement& p) { return of({"B", "K", "N"}, p); };
  expect_all({{op, {a(replicated()), b(replicated())}, "f32[B,S,N]"},
              {op, {a(sliced(1)), b(replicated())}, "f32[B,S,N] sliced(1)"},
              {op, {a(sliced(0, 1)), b(replicated())}, "f32[B,S,N] sliced(0..1)"},
              {op, {a(sliced(0)), b(replicated())}, "f32[B,S,N] sliced(0)"},
              {op, {a(replicated()), b(sliced(1))}, "f32[B,S,N] sliced(2)"},
              {op, {a(sliced(2)), b(sliced(0))}, "f32[B,S,N] partial(+)"},
              {op, {a(sliced(2)), b(replicated())}, "f32[B,S,N] partial(+)"},
              {op, {a(replicated()), b(sliced(0))}, "f32[B,S,N] partial(+)"},
              {op, {a(partial()), b(replicated())}, "f32[B,S,N] partial(+)"},
              {op, {a(replicated()), b(partial())}, "f32[B,S,N] partial(+)"},
              {op, {a(local()), b(replicated())}, "f32[B,S,N] local"},
              {op, {a(local()), b(local())}, "f32[B,S,N] local"},
              {op, {a(rooted(1)), b(rooted(1))}, "f32[B,S,N] rooted(1)"},
              {op, {a(sliced(0)), batched(sliced(0))}, "f32[B,S,N] sliced(0)"},
              {op, {a(sliced(0)), batched(replicated())}, "f32[B,S,N] sliced(0)"},
              {op, {a(replicated()), batched(sliced(0))}, "f32[B,S,N] sliced(0)"},
              {op, {a(sliced(0, 1)), batched(replicated())}, "f32[B,S,N] sliced(0..1)"},
              {op, {a(replicated()), batched(sliced(2))}, "f32[B,S,N] sliced(2)"},
              {op, {a(sliced(2)), batched(sliced(1))}, "f32[B,S,N] partial(+)"},
              {op, {of({"M", "K"}, sliced(0)), b(replicated())}, "f32[M,N] sliced(0)"},
              {Matmul{f32},
               {of({"M", "K"}, sliced(1), f16), of({"K", "N"}, sliced(0), f16)},
               "f32[M,N] partial(+)"}},
             kOne.mesh());
}

TEST(Infer, OperationsOnRows) {
  const TensorType h = of({"H"}), eps = of({});
  const auto x = [](const Placement& p) { return of({"B", "S", "H"}, p); };
  expect_all({{RmsNorm{}, {x(sliced(0, 1)), h, eps}, "f32[B,S,H] sliced(0..1)"},
              {RmsNorm{}, {x(local()), h, eps}, "f32[B,S,H] local"},
              {Softmax{}, {x(replicated())}, "f32[B,S,H]"},
              {Softmax{}, {x(sliced(0, 1))}, "f32[B,S,H] sliced(0..1)"},
              {Softmax{{2}}, {x(sliced(1))}, "f32[B,S,H] sliced(1)"},
              {Softmax{}, {x(rooted(1))}, "f32[B,S,H] rooted(1)"}},
             kOne.mesh());
}

TEST(Infer, MatmulOfTransposedOperands) {
  const Op ta = Matmul{{}, true, false}, tb = Matmul{{}, false, true},
           both = Matmul{{}, true, true};
  const auto a = [](const Placement& p) { return of({"B", "K", "S"}, p); };
  const auto b = [](const Placement& p) { return of({"N", "K"}, p); };
  const auto batched = [](const Placement& p) { return of({"B", "N", "K"}, p); };
  expect_all({{both, {a(replicated()), b(replicated())}, "f32[B,S,N]"},
              {ta, {a(replicated()), of({"K", "N"})}, "f32[B,S,N]"},
              {tb, {of({"B", "S", "K"}, sliced(0, 1)), b(replicated())}, "f32[B,S,N] sliced(0..1)"},
              {both, {a(sliced(0)), b(replicated())}, "f32[B,S,N] sliced(0)"},
              {both, {a(sliced(2)), b(replicated())}, "f32[B,S,N] sliced(1)"},
              {both, {a(sliced(1)), b(sliced(1))}, "f32[B,S,N] partial(+)"},
              {both, {a(replicated()), b(sliced(0))}, "f32[B,S,N] sliced(2)"},
              {both, {a(replicated()), b(sliced(1))}, "f32[B,S,N] partial(+)"},
              {both, {a(partial()), b(replicated())}, "f32[B,S,N] partial(+)"},
              {both, {a(replicated()), batched(sliced(0))}, "f32[B,S,N] sliced(0)"},
              {both, {a(sliced(0)), batched(sliced(0))}, "f32[B,S,N] sliced(0)"},
              {both, {a(replicated()), batched(sliced(1))}, "f32[B,S,N] sliced(2)"}},
             kOne.mesh());
  expect_all({{both,
               {on({"K", "M"}, {{dp, sliced(1)}}), on({"N", "K"}, {{tp, sliced(0)}})},
               "f32[M,N] sliced(0)@dp sliced(1)@tp"}},
             kTwo.mesh());
}

TEST(Infer, MatmulOnSeveralAxes) {
  const Op op = Matmul{};
  expect_all(
      {{op,
        {on({"M", "K"}, {{dp, sliced(0)}, {tp, sliced(1)}}), on({"K", "N"}, {{tp, sliced(0)}})},
        "f32[M,N] sliced(0)@dp partial(+)@tp"},
       {op,
        {on({"M", "K"}, {{dp, sliced(0)}}), on({"K", "N"}, {{tp, sliced(1)}})},
        "f32[M,N] sliced(0)@dp sliced(1)@tp"},
       {op,
        {on({"M", "K"}, {{dp, sliced(1)}, {tp, sliced(1)}}), on({"K", "N"}, {{dp, sliced(0)}})},
        "f32[M,N] partial(+)@dp partial(+)@tp"},
       {op,
        {on({"M", "K"}, {{dp, partial()}}), on({"K", "N"}, {{tp, partial()}})},
        "f32[M,N] partial(+)@dp partial(+)@tp"}},
      kTwo.mesh());
}

TEST(Infer, Reductions) {
  const auto bsh = [](const Placement& p, DType dtype = f32) {
    return of({"B", "S", "H"}, p, std::move(dtype));
  };
  const auto red = [](ReduceFn fn, std::vector<int> dims) { return Reduce{fn, std::move(dims)}; };
  const ReduceFn sum = ReduceFn::sum;
  const ReduceFn max = ReduceFn::max;
  expect_all({{red(sum, {2}), {bsh(replicated())}, "f32[B,S,1]"},
              {red(sum, {2}), {bsh(sliced(0, 1))}, "f32[B,S,1] sliced(0..1)"},
              {red(sum, {2}), {bsh(sliced(2))}, "f32[B,S,1] partial(+)"},
              {red(max, {2}), {bsh(sliced(2))}, "f32[B,S,1] partial(max)"},
              {red(max, {0, 1}), {bsh(sliced(0, 1))}, "f32[1,1,H] partial(max)"},
              {red(sum, {}), {bsh(sliced(0))}, "f32[] partial(+)"},
              {red(ReduceFn::prod, {}), {bsh(sliced(0, 1))}, "f32[] partial(prod)"},
              {red(sum, {1}), {bsh(partial())}, "f32[B,1,H] partial(+)"},
              {red(ReduceFn::mean, {1}), {bsh(partial())}, "f32[B,1,H] partial(+)"},
              {red(max, {1}), {bsh(partial(Fold::max))}, "f32[B,1,H] partial(max)"},
              {red(sum, {1}), {bsh(local())}, "f32[B,1,H] local"},
              {red(sum, {}), {bsh(rooted(3))}, "f32[] rooted(3)"},
              {red(ReduceFn::mean, {2}), {bsh(replicated(), f16)}, "f16[B,S,1]"},
              {red(ReduceFn::min, {0}), {bsh(replicated(), i32)}, "i32[1,S,H]"}},
             kOne.mesh());
  expect_all({{red(sum, {1}),
               {on({"M", "N"}, {{dp, sliced(1)}, {tp, sliced(1)}})},
               "f32[M,1] partial(+)@dp partial(+)@tp"},
              {red(sum, {1}),
               {on({"M", "N"}, {{dp, sliced(0)}, {tp, sliced(1)}})},
               "f32[M,1] sliced(0)@dp partial(+)@tp"},
              {red(sum, {0}),
               {on({"M", "N"}, {{dp, partial()}, {tp, sliced(0)}})},
               "f32[1,N] partial(+)@dp partial(+)@tp"}},
             kTwo.mesh());
}

TEST(Infer, NormsAndBlocks) {
  const TensorType eps = of({});
  const TensorType h16 = of({"H"}, Replicated{}, f16);
  expect_all({{Norm{}, {of({"N"}, Replicated{}, f16)}, "f16[]"},
              {Norm{f32}, {of({"N"}, Replicated{}, f16)}, "f32[]"},
              {Norm{}, {of({"N"}, local())}, "f32[] local"},
              {LayerNorm{}, {of({"B", "H"}, sliced(0), f16), h16, h16, eps}, "f16[B,H] sliced(0)"},
              {LayerNorm{}, {of({"B", "H"}, local(), f16), h16, h16, eps}, "f16[B,H] local"},
              {BlockReduce{Fold::sum, true},
               {of({"B", "H"}, sliced_flat(), f16)},
               "f32[blocks(B*H)] sliced(0)"},
              {BlockReduce{Fold::max, false}, {of({"N"}, Replicated{}, i64)}, "i64[blocks(N)]"},
              {BlockReduce{Fold::sum, false}, {of({"N"}, partial())}, "f32[blocks(N)] partial(+)"},
              {FoldBlocks{}, {block_sums()}, "f32[]"},
              {FoldBlocks{}, {block_sums(partial())}, "f32[] partial(+)"},
              {FoldBlocks{}, {block_sums(local())}, "f32[] local"}},
             kOne.mesh());
  expect_all({{BlockReduce{},
               {on({"N"}, {{dp, sliced_flat()}, {tp, sliced_flat()}})},
               "f32[blocks(N)] sliced(0)@[dp,tp]"}},
             kTwo.mesh());
}

TEST(Infer, Collectives) {
  const auto n = [](const Placement& p) { return of({"N", "H"}, p); };
  const AxisList axes = {0};
  expect_all({{AllReduce{Fold::sum, axes}, {n(partial())}, "f32[N,H]"},
              {AllReduce{Fold::sum, axes}, {n(local())}, "f32[N,H]"},
              {AllReduce{Fold::max, axes}, {n(partial(Fold::max))}, "f32[N,H]"},
              {AllReduce{Fold::min, axes}, {n(local())}, "f32[N,H]"},
              {ReduceScatter{Fold::sum, Slice::all(), axes}, {n(partial())}, "f32[N,H] sliced(*)"},
              {ReduceScatter{Fold::sum, Slice::dim(1), axes}, {n(local())}, "f32[N,H] sliced(1)"},
              {AllGather{axes}, {n(sliced(0, 1))}, "f32[N,H]"},
              {ReduceTo{Fold::sum, 2, axes}, {n(partial())}, "f32[N,H] rooted(2)"},
              {ReduceTo{Fold::sum, 2, axes}, {n(local())}, "f32[N,H] rooted(2)"},
              {Broadcast{{}, axes}, {n(rooted(2))}, "f32[N,H]"},
              {Broadcast{1, axes}, {n(local())}, "f32[N,H]"},
              {Shard{Slice::dim(0), axes}, {n(replicated())}, "f32[N,H] sliced(0)"},
              {RootOf{1, axes}, {n(replicated())}, "f32[N,H] rooted(1)"},
              {AsPartial{Fold::sum, axes}, {n(replicated())}, "f32[N,H] partial(+)"}},
             kOne.mesh());
}

TEST(Infer, CollectivesOnSeveralAxes) {
  const auto n = [](const std::vector<std::pair<int, Placement>>& placed) {
    return on({"N", "H"}, placed);
  };
  const Op exchange = AllToAll{Slice::dim(0), Slice::dim(1), {tp}};
  const Op both = AllToAll{Slice::dim(0), Slice::all(), {dp, tp}};
  const Op stack = Stack{{tp}};
  expect_all(
      {{exchange, {n({{tp, sliced(0)}})}, "f32[N,H] sliced(1)@tp"},
       {exchange, {n({{dp, local()}, {tp, sliced(0)}})}, "f32[N,H] sliced(1)@tp local@dp"},
       {exchange, {n({{dp, sliced(0)}, {tp, sliced(0)}})}, "f32[N,H] sliced(0)@dp sliced(1)@tp"},
       {exchange, {n({{dp, sliced(1)}, {tp, sliced(0)}})}, "f32[N,H] sliced(1)@[dp,tp]"},
       {both, {n({{dp, sliced(0)}, {tp, sliced(0)}})}, "f32[N,H] sliced(*)@[dp,tp]"},
       {stack, {n({{tp, local()}})}, "f32[tp,N,H] sliced(0)@tp"},
       {stack, {n({{dp, local()}, {tp, local()}})}, "f32[tp,N,H] sliced(0)@tp local@dp"},
       {stack, {n({{dp, sliced(1)}, {tp, local()}})}, "f32[tp,N,H] sliced(2)@dp sliced(0)@tp"},
       {stack, {n({{tp, local()}, {dp, sliced_flat()}})}, "f32[tp,N,H] sliced(0)@tp sliced(*)@dp"},
       {stack, {kTwo.type(i32, {}, {{tp, local()}})}, "i32[tp] sliced(0)@tp"}},
      kTwo.mesh());
  const Op shift = Shift{1, false, {dp}};
  expect_all({{shift, {n({})}, "f32[N,H] local@dp"},
              {shift, {n({{dp, local()}, {tp, partial()}})}, "f32[N,H] local@dp partial(+)@tp"},
              {shift, {n({{tp, sliced(1)}})}, "f32[N,H] sliced(1)@tp local@dp"},
              {shift, {n({{tp, rooted(1)}})}, "f32[N,H] local@dp rooted(1)@tp"}},
             kTwo.mesh());
  expect_all(
      {{AllReduce{Fold::sum, {tp}}, {n({{dp, local()}, {tp, partial()}})}, "f32[N,H] local@dp"},
       {AllReduce{Fold::sum, {dp, tp}}, {n({{dp, local()}, {tp, partial()}})}, "f32[N,H]"},
       {AllReduce{Fold::sum, {tp}},
        {n({{dp, partial()}, {tp, partial()}})},
        "f32[N,H] partial(+)@dp"},
       {AllReduce{Fold::sum, {dp}}, {n({{dp, local()}, {tp, sliced(1)}})}, "f32[N,H] sliced(1)@tp"},
       {ReduceScatter{Fold::sum, Slice::all(), {dp}},
        {n({{dp, local()}, {tp, sliced(1)}})},
        "f32[N,H] sliced(1)@tp sliced(*)@dp"},
       {ReduceScatter{Fold::sum, Slice::dim(0), {dp, tp}},
        {n({{dp, partial()}, {tp, partial()}})},
        "f32[N,H] sliced(0)@[dp,tp]"},
       {AllGather{{tp}}, {n({{dp, sliced(0)}, {tp, sliced(0)}})}, "f32[N,H] sliced(0)@dp"},
       {AllGather{{dp, tp}}, {n({{dp, sliced(0)}, {tp, sliced(0)}})}, "f32[N,H]"},
       {AllGather{{dp}}, {n({{dp, sliced(0)}, {tp, sliced(1)}})}, "f32[N,H] sliced(1)@tp"},
       {Shard{Slice::range(0, 1), {tp}},
        {n({{dp, sliced(0)}})},
        "f32[N,H] sliced(0)@dp sliced(0..1)@tp"}},
      kTwo.mesh());
}

TEST(Infer, UpdateKeepsTheStoragesType) {
  expect_all({{Update{}, {of({"N"}), of({"N"})}, "f32[N]"},
              {Update{}, {of({"N"}, sliced_flat()), of({"N"}, sliced_flat())}, "f32[N] sliced(*)"}},
             kOne.mesh());
}

TEST(Infer, LeavesHaveTheirDeclaredTypes) {
  expect_all({{AxisSize{0, f16}, {}, "f16[]"},
              {DimSize{dim("N"), f32}, {}, "f32[]"},
              {Constant{2.5, f32}, {}, "f32[]"},
              {Constant{std::int64_t{2}, f32}, {}, "f32[]"},
              {Constant{std::int64_t{2}, i32}, {}, "i32[]"},
              {Constant{true, boolean}, {}, "bool[]"}},
             kOne.mesh());
}

TEST(OnlyAxes, AreThePartialOnesFirst) {
  const auto only = [](const Op& op, const std::vector<std::pair<int, Placement>>& placed) {
    return only_axes_for(op, on({"N"}, placed), kTwo.mesh());
  };
  EXPECT_EQ(only(AllReduce{}, {{dp, local()}, {tp, partial()}}), AxisList{tp});
  EXPECT_EQ(only(ReduceTo{}, {{dp, local()}}), AxisList{dp});
  EXPECT_EQ(only(AllGather{}, {{tp, sliced(0)}}), AxisList{tp});
  EXPECT_EQ(only(Broadcast{}, {{tp, rooted(0)}, {dp, local()}}), AxisList{tp});
  EXPECT_EQ(only(Broadcast{0, {}}, {{tp, rooted(0)}, {dp, local()}}), AxisList{dp});
  EXPECT_EQ(only(Shard{}, {{tp, sliced(0)}}), AxisList{dp});
  EXPECT_EQ(only_axes_for(AllReduce{}, of({"N"}), kOne.mesh()), AxisList{0});
}

}  // namespace
}  // namespace coconet
