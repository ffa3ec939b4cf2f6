// What transpose, reshape, narrow and concat refuse, and in which words.
#include <gtest/gtest.h>

#include "coconet/graph/infer.h"
#include "tests/graph_fixture.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

const Fixture kOne;  // mesh world(tp)

TensorType of(const std::vector<std::string>& dims, const Placement& placement = Replicated{},
              DType dtype = f32) {
  return kOne.type(std::move(dtype), dims, {{0, placement}});
}

void refused(const Op& op, const std::vector<TensorType>& operands,
             const std::vector<std::string>& words) {
  SCOPED_TRACE(words.front());
  expect_refused([&] { infer(op, operands, kOne.mesh()); }, words);
}

const Dim B = dim("B"), S = dim("S"), H = dim("H");

TEST(MovementRefusal, OfTranspose) {
  const auto x = [](const Placement& p) { return of({"B", "S", "H"}, p); };
  refused(Transpose{{0, 1}}, {x(replicated())}, {"each dim of the operand once", "0 to 2"});
  refused(Transpose{{0, 1, 1}}, {x(replicated())}, {"each dim of the operand once"});
  refused(Transpose{{0, 2, 1}}, {x(sliced(0, 1))}, {"sliced(0..1)", "together and in order"});
  refused(Transpose{{1, 0, 2}}, {x(sliced(0, 1))}, {"that the transpose parts"});
  refused(Transpose{{1, 0, 2}}, {x(sliced_flat())}, {"sliced(*)", "slice it by one dim"});
}

TEST(MovementRefusal, OfReshape) {
  const auto x = [](const Placement& p) { return of({"B", "S", "H"}, p); };
  refused(Reshape{{B, H}}, {x(replicated())}, {"B*H*S elements", "[B,H] has B*H", "`require H =="});
  refused(Reshape{{B * S, H}}, {x(sliced(0))},
          {"sliced(0)", "merges or splits", "or `require B % size(tp) == 0`"});
  refused(Reshape{{B * S, H}}, {x(sliced(1))}, {"sliced(1)", "slice it by all the dims"});
  refused(Reshape{{B, S * H}}, {x(sliced(0, 1))}, {"sliced(0..1)"});
  refused(Reshape{{B, Dim(1), S}}, {kOne.type(f32, {}, {})}, {"has 1 elements"});
  TensorType merged = of({"H", "H"}, sliced(0));
  merged.shape[0] = B * S;
  refused(Reshape{{B, Dim(1), S, H}}, {merged}, {"a literal 1"});
}

TEST(MovementRefusal, OfNarrow) {
  refused(Narrow{2, Dim(0), H}, {of({"B", "H"})}, {"there is no dim 2", "0 to 1"});
  refused(Narrow{1, H, H}, {of({"B", "H"})}, {"elements H to H + H", "which has H"});
  refused(Narrow{1, Dim(0), 2 * H}, {of({"B", "H"})}, {"which has H"});
  refused(Narrow{1, Dim(0), S}, {of({"B", "H"}, sliced(1))}, {"cuts dim 1", "all_gather it first"});
  refused(Narrow{1, Dim(0), S}, {of({"B", "H"}, sliced_flat())}, {"sliced(*)", "cuts dim 1"});
}

TEST(MovementRefusal, OfConcat) {
  const Op op = Concat{1, {}};
  const auto x = [](const Placement& p) { return of({"B", "H"}, p); };
  refused(op, {x(replicated()), of({"S", "H"})}, {"different dims beside dim 1"});
  refused(op, {x(replicated()), of({"B", "H"}, Replicated{}, f16)}, {"different dtypes"});
  refused(op, {x(replicated()), of({"B"})}, {"differ in the dim"});
  refused(op, {x(replicated()), of({"B", "S"})}, {"is H + S, no product of dims", "size=T"});
  refused(Concat{1, 3 * H}, {x(replicated()), x(replicated())}, {"is 2*H, but size=3*H"});
  refused(op, {x(sliced(1)), x(sliced(1))}, {"sliced(1), which cuts dim 1"});
  refused(op, {x(sliced(0)), x(replicated())}, {"not sliced alike", "shard the whole"});
  refused(op, {x(partial()), x(replicated())}, {"is partial and another is not", "as_partial"});
  refused(op, {x(partial()), x(partial(Fold::max))}, {"is partial and another is not"});
  refused(op, {x(rooted(0)), x(rooted(1))}, {"rooted(0)", "rooted(1)"});
}

TEST(MovementRefusal, OfMoreDimsThanThereMayBe) {
  const Shape nine(9, Dim(2));
  expect_refused([&] { validate({f32, nine, Layout(1)}, kOne.mesh()); }, {"9 dims; at most 8"});
  refused(Reshape{nine}, {kOne.type(f32, {"512"})}, {"9 dims; at most 8"});
  const std::vector<std::string> eight(8, "B");
  refused(Stack{{0}}, {of(eight, Local{})}, {"stack(f32[B,B,", "9 dims; at most 8"});
  EXPECT_EQ(
      infer(Stack{{0}}, std::vector{of(std::vector<std::string>(7, "B"), Local{})}, kOne.mesh())
          .rank(),
      8);
  const TensorType list = list_of(f32, Shape(9, dim("N_i")), Layout(1));
  expect_refused([&] { validate(list, kOne.mesh()); }, {"9 dims; at most 8"});
}

}  // namespace
}  // namespace coconet
