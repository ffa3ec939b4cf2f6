// What reductions, norms, collectives and updates refuse, near misses included.
#include <gtest/gtest.h>

#include "coconet/graph/infer.h"
#include "tests/graph_fixture.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

constexpr int dp = 0;
constexpr int tp = 1;
const Fixture kOne;                // mesh world(tp)
const Fixture kTwo{{"dp", "tp"}};  // mesh world(dp, tp)
const AxisList kAxis = {0};

TensorType of(const std::vector<std::string>& dims, const Placement& placement = Replicated{},
              DType dtype = f32) {
  return kOne.type(std::move(dtype), dims, {{0, placement}});
}
TensorType on(const std::vector<std::pair<int, Placement>>& placed) {
  return kTwo.type(f32, {"N", "H"}, placed);
}
TensorType n(const Placement& placement) { return of({"N", "H"}, placement); }
void refused(const Op& op, const std::vector<TensorType>& operands,
             const std::vector<std::string>& words) {
  const bool one = operands[0].layout.axes() == 1;
  SCOPED_TRACE(name_of(op));
  expect_refused([&] { infer(op, operands, one ? kOne.mesh() : kTwo.mesh()); }, words);
}

TEST(ReduceRefusal, OfPlacements) {
  refused(Reduce{ReduceFn::max, {0}}, {n(partial())},
          {"max(f32[N,H] partial(+))", "legal: max(all_reduce(x, +))"});
  refused(Reduce{ReduceFn::sum, {0}}, {n(partial(Fold::max))}, {"partial(max)"});
  refused(Reduce{ReduceFn::mean, {0}}, {n(partial(Fold::max))}, {"partial(max)"});
  refused(Reduce{ReduceFn::sum, {0}}, {n(sliced(0, 1))}, {"only some are reduced"});
  refused(Reduce{ReduceFn::sum, {0}}, {n(sliced_flat())}, {"do not follow the dims"});
  refused(Reduce{ReduceFn::sum, {0, 1}}, {n(sliced_flat())}, {"do not follow the dims"});
  refused(Reduce{ReduceFn::sum, {}}, {n(sliced_flat())},
          {"depend on their number", "fold(all_gather(block_sums(x)))"});
  refused(Reduce{ReduceFn::mean, {1}}, {n(sliced(1))}, {"needs a collective"});
  // max over a sliced dim beside a sum that is still partial.
  refused(Reduce{ReduceFn::max, {0}}, {on({{dp, partial()}, {tp, sliced(0)}})}, {"on axis dp"});
}

TEST(ReduceRefusal, OfDimsAndDtypes) {
  refused(Reduce{ReduceFn::sum, {2}}, {n(replicated())}, {"there is no dim 2"});
  refused(Reduce{ReduceFn::sum, {}}, {of({"N"}, Replicated{}, boolean)}, {"found bool"});
  refused(Reduce{ReduceFn::mean, {}}, {of({"N"}, Replicated{}, i32)}, {"found i32"});
}

TEST(NormRefusal, OffersTheReducedNorm) {
  refused(Norm{}, {n(partial())}, {"norm(f32[N,H] partial(+))", "norm(all_reduce(x, +))"});
  refused(Norm{}, {n(sliced(0))}, {"needs a collective", "all_reduce(sum(x * x), +)"});
  refused(Norm{}, {of({"N"}, Replicated{}, i32)}, {"found i32"});
  refused(Norm{i32}, {n(replicated())}, {"out is i32"});
}

TEST(RowsRefusal, SaysWhatItNeeds) {
  const auto n = [](const Placement& p) { return of({"N", "H"}, p); };
  const TensorType h = of({"H"}), eps = of({});
  refused(RmsNorm{}, {n(sliced(0, 1)), h, eps}, {"cuts the last dim", "by its rows"});
  refused(RmsNorm{}, {n(partial()), h, eps}, {"rms_norm(all_reduce(x, +))"});
  refused(RmsNorm{}, {n(sliced(0)), of({"H"}, sliced(0)), eps}, {"gamma or eps is sliced(0)"});
  refused(RmsNorm{}, {n(replicated()), of({"N"}), eps}, {"gamma is f32[N]"});
  refused(Softmax{}, {n(sliced(0, 1))}, {"cuts dims over which", "by those dims alone"});
  refused(Softmax{}, {n(sliced_flat())}, {"sliced(*)", "all_gather"});
  refused(Softmax{}, {n(partial())}, {"softmax(all_reduce(x, +))"});
  refused(Softmax{{3}}, {n(replicated())}, {"there is no dim 3"});
  refused(Softmax{}, {of({})}, {"no last dim"});
  refused(Softmax{}, {of({"N"}, Replicated{}, i32)}, {"found i32"});
}

TEST(LayerNormRefusal, SaysWhatItNeeds) {
  const TensorType h = of({"H"});
  const TensorType eps = of({});
  refused(LayerNorm{}, {n(sliced(1)), h, h, eps}, {"cuts the last dim", "by its rows"});
  refused(LayerNorm{}, {n(sliced(0, 1)), h, h, eps}, {"cuts the last dim"});
  refused(LayerNorm{}, {n(sliced_flat()), h, h, eps}, {"cuts the last dim"});
  refused(LayerNorm{}, {n(partial()), h, h, eps}, {"layer_norm(all_reduce(x, +))"});
  refused(LayerNorm{}, {n(sliced(0)), of({"H"}, sliced(0)), h, eps}, {"needed replicated"});
  refused(LayerNorm{}, {n(replicated()), h, of({"N"}), eps}, {"beta is f32[N]"});
  refused(LayerNorm{}, {n(replicated()), of({"H"}, Replicated{}, f16), h, eps},
          {"gamma is f16[H]", "needed f32[H]"});
  refused(LayerNorm{}, {n(replicated()), h, h, of({}, Replicated{}, f64)}, {"eps is f64[]"});
  refused(LayerNorm{}, {n(sliced(0)), h, h, of({}, local())}, {"sliced(0)", "local"});
}

TEST(BlockRefusal, NeedsWholeBlocks) {
  refused(BlockReduce{}, {n(sliced(0))}, {"no whole blocks", "slices (*) only"});
  refused(BlockReduce{}, {on({{tp, sliced(1)}, {dp, sliced_flat()}})}, {"on axis tp"});
  refused(BlockReduce{Fold::sum, true}, {n(partial())}, {"partial(+)"});
  refused(BlockReduce{Fold::max, false}, {n(partial())}, {"partial(+)"});
  refused(FoldBlocks{}, {block_sums(sliced(0))}, {"needed all of them", "fold(all_gather(x))"});
  refused(FoldBlocks{}, {n(replicated())}, {"a vector of block sums"});
  refused(FoldBlocks{}, {of({"N"})}, {"a vector of block sums", "or sum(x) of all elements"});
  refused(FoldBlocks{Fold::max}, {block_sums(partial())}, {"partial(+)"});
}

TEST(AllReduceRefusal, OfWhatIsNotPartial) {
  const Op op = AllReduce{Fold::sum, kAxis};
  refused(op, {n(replicated())}, {"all_reduce(f32[N,H])", "would multiply by N", "as_partial"});
  refused(op, {n(sliced(0))}, {"every rank holds other elements", "legal: all_gather(x)"});
  refused(op, {n(rooted(0))}, {"one rank holds", "legal: broadcast(x)"});
  refused(AllReduce{Fold::max, kAxis}, {n(partial())},
          {"is partial(+) but the fold is max", "all_reduce with +"});
  refused(op, {of({"N"}, partial(), boolean)}, {"found bool", "cast(x, i32)"});
  refused(AllReduce{Fold::sum, {dp, tp}}, {on({{tp, partial()}})}, {"on axis dp", "multiply by N"});
}

TEST(AllReduceRefusal, OfTwoFolds) {
  const TensorType x = on({{dp, local()}, {tp, partial(Fold::max)}});
  refused(AllReduce{Fold::sum, {dp}}, {x}, {"on axis tp", "do not commute", "reduce tp first"});
  refused(AllReduce{Fold::sum, {dp, tp}}, {x}, {"is partial(max) but the fold is +"});
  refused(AsPartial{Fold::sum, {dp}}, {on({{tp, partial(Fold::max)}})}, {"do not commute"});
  refused(ReduceScatter{Fold::sum, Slice::dim(0), {dp}}, {x}, {"do not commute"});
}

TEST(ReduceScatterRefusal, OfSlices) {
  const auto rs = [](const Slice& slice) { return ReduceScatter{Fold::sum, slice, {dp}}; };
  const auto x = [](const Placement& p) { return on({{dp, partial()}, {tp, p}}); };
  refused(rs(Slice::dim(0)), {x(sliced(0, 1))}, {"(0) overlaps (0..1)", "all_gather axis tp"});
  refused(rs(Slice::dim(1)), {x(sliced_flat())}, {"(1) overlaps (*)"});
  refused(rs(Slice::dim(2)), {x(replicated())}, {"needs dims that exist"});
  refused(ReduceScatter{Fold::sum, Slice::dim(0), kAxis}, {of({"1", "H"}, partial())},
          {"a literal 1"});
  refused(ReduceScatter{Fold::sum, Slice::all(), kAxis}, {of({}, partial())},
          {"a scalar has nothing to slice"});
  refused(ReduceScatter{Fold::sum, Slice::dim(0), kAxis}, {n(sliced(0))}, {"other elements"});
}

TEST(AllGatherRefusal, SaysWhichAxisIsGatheredFirst) {
  const TensorType nested = on({{dp, sliced(0)}, {tp, sliced(0)}});
  refused(AllGather{{dp}}, {nested}, {"axis tp cuts the piece", "all_gather over tp first"});
  refused(AllGather{{tp}}, {on({{tp, sliced(1)}, {dp, sliced_flat()}})}, {"all_gather over dp"});
  refused(AllGather{kAxis}, {n(replicated())}, {"is replicated, needed sliced"});
  refused(AllGather{kAxis}, {n(partial())}, {"all_reduce(x, +)"});
  refused(AllGather{kAxis}, {n(rooted(0))}, {"broadcast(x)"});
  refused(AllGather{kAxis}, {n(local())}, {"broadcast(x, r)"});
}

TEST(RootRefusal, OfReduceAndBroadcast) {
  refused(ReduceTo{Fold::sum, 0, kAxis}, {n(replicated())}, {"would multiply by N"});
  refused(ReduceTo{Fold::max, 0, kAxis}, {n(partial())}, {"reduce with +"});
  refused(Broadcast{{}, kAxis}, {n(local())}, {"the root must be given", "broadcast(x, r)"});
  refused(Broadcast{1, kAxis}, {n(rooted(1))}, {"its root is known"});
  refused(Broadcast{{}, kAxis}, {n(replicated())}, {"every rank holds it already"});
  refused(Broadcast{{}, kAxis}, {n(sliced(0))}, {"all_gather(x)"});
  refused(Broadcast{{}, kAxis}, {n(partial())}, {"all_reduce(x, +)"});
}

TEST(FreePlacementRefusal, NeedsReplicated) {
  refused(Shard{Slice::dim(0), kAxis}, {n(sliced(0))}, {"needed replicated", "all_gather(x)"});
  refused(Shard{Slice::dim(0), kAxis}, {n(partial())}, {"reduce_scatter(x, +, slice)"});
  refused(RootOf{0, kAxis}, {n(local())}, {"the operand is local"});
  refused(AsPartial{Fold::sum, kAxis}, {n(rooted(0))}, {"broadcast(x) first"});
  refused(AsPartial{Fold::sum, kAxis}, {of({"N"}, Replicated{}, boolean)}, {"found bool"});
  refused(Shard{Slice::dim(0), {dp}}, {on({{tp, sliced(0, 1)}})}, {"(0) overlaps (0..1)"});
}

TEST(ShiftRefusal, NeedsAWholeValueOnItsAxis) {
  const Shift shift{1, false, {dp}};
  refused(shift, {on({{dp, sliced(0)}})},
          {"shift(f32[N,H] sliced(0)@dp)@dp", "on axis dp the operand is sliced(0)",
           "needed: replicated or local", "all_gather(x) over it first"});
  refused(shift, {on({{dp, partial()}})}, {"is partial(+)", "all_reduce(x, +) over it first"});
  refused(shift, {on({{dp, rooted(0)}})}, {"is rooted(0)", "broadcast(x) over it first"});
}

TEST(AllToAllRefusal, NeedsItsSlice) {
  const AllToAll exchange{Slice::dim(0), Slice::dim(1), kAxis};
  refused(exchange, {n(sliced(1))},
          {"all_to_all(f32[N,H] sliced(1))", "is sliced(1), needed sliced(0)",
           "legal: use it as it is"});
  refused(AllToAll{Slice::dim(0), Slice::all(), kAxis}, {n(sliced(1))},
          {"legal: all_to_all(x, (1), (*))"});
  refused(AllToAll{Slice::dim(0), Slice::dim(1), {dp, tp}}, {on({{dp, sliced(0)}})},
          {"on axis tp the operand is replicated",
           "legal: all_to_all(x, (0), (1))@dp, or shard(x, (0))@tp first"});
  refused(exchange, {n(replicated())}, {"is replicated", "shard(x, (1))"});
  refused(exchange, {n(partial())}, {"is partial(+)", "reduce_scatter(x, +, (1))"});
  refused(exchange, {n(local())}, {"is local", "stack(x) first"});
  refused(exchange, {n(rooted(0))}, {"shard(broadcast(x), (1))"});
  refused(AllToAll{Slice::dim(0), Slice::dim(0), kAxis}, {n(sliced(0))}, {"nothing to exchange"});
  refused(AllToAll{Slice::dim(0), Slice::dim(2), kAxis}, {n(sliced(0))}, {"dims that exist"});
  const TensorType nested = on({{dp, sliced(0)}, {tp, sliced(0)}});
  refused(AllToAll{Slice::dim(0), Slice::dim(1), {dp}}, {nested}, {"axis tp cuts the piece"});
  refused(AllToAll{Slice::dim(2), Slice::dim(0), {tp}},
          {kTwo.type(f32, {"N", "M", "H"}, {{dp, sliced(0, 1)}, {tp, sliced(2)}})},
          {"(0) overlaps (0..1)"});
  refused(AllToAll{Slice::dim(0), Slice::dim(1), {tp}},
          {on({{tp, sliced(0)}, {dp, sliced_flat()}})}, {"axis dp cuts the piece"});
}

TEST(StackRefusal, NeedsLocalValuesOfOneAxis) {
  refused(Stack{kAxis}, {n(replicated())}, {"is replicated, one value", "needed: local"});
  refused(Stack{kAxis}, {n(partial())}, {"is partial(+)"});
  refused(Stack{{dp, tp}}, {on({{dp, local()}, {tp, local()}})}, {"found 2 axes", "then over"});
}

TEST(UpdateRefusal, NeedsTheStoragesType) {
  const TensorType p = of({"N"});
  refused(Update{}, {p, of({"N"}, Replicated{}, f16)}, {"is f16", "update(p, cast(e, f32))"});
  refused(Update{}, {p, of({})}, {"shape []", "the storage [N]"});
  refused(Update{}, {p, of({"N"}, sliced_flat())}, {"update(p, all_gather(e))"});
  refused(Update{}, {p, of({"N"}, partial())}, {"update(p, all_reduce(e, +))"});
  refused(
      Update{}, {p, of({"N"}, local())},
      {"legal: fold over the ranks what is local where it is read, for example all_reduce(g, +)",
       "declare the storage local"});
  refused(Update{}, {of({"N"}, sliced(0)), p}, {"update(p, shard(e, (0)))"});
  refused(Update{},
          {on({{dp, sliced(0)}, {tp, sliced(0)}}), on({{tp, sliced(0)}, {dp, sliced(0)}})},
          {"in another order"});
}

TEST(OnlyAxesRefusal, NamesTheChoices) {
  const auto only = [](const Op& op, const TensorType& x) {
    return [&op, x] { only_axes_for(op, x, kTwo.mesh()); };
  };
  const Op reduce = AllReduce{};
  const Op gather = AllGather{};
  expect_refused(only(reduce, on({{dp, partial()}, {tp, partial()}})),
                 {"several axes are partial or local", "@dp, @tp or @[dp,tp]"});
  expect_refused(only(reduce, on({{dp, local()}, {tp, local()}})), {"several axes"});
  expect_refused(only(reduce, on({})), {"no axis is partial or local"});
  expect_refused(only(gather, on({{tp, partial()}})), {"no axis is sliced"});
}

}  // namespace
}  // namespace coconet
