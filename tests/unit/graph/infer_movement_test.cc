// What movement of data accepts, and the type it gives (docs/language.md).
#include "coconet/graph/infer.h"

#include <gtest/gtest.h>

#include "tests/unit/graph/infer_table.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

TEST(Infer, MovementOfData) {
  const auto x = [](const Placement& p) { return of({"B", "S", "H"}, p); };
  const Dim b = dim("B"), s = dim("S"), h = dim("H");
  TensorType merged = of({"H", "H"}, sliced(0));
  merged.shape[0] = b * s;
  const Op turn = Transpose{{2, 0, 1}};
  expect_all(
      {{turn, {x(replicated())}, "f32[H,B,S]"},
       {turn, {x(sliced(0))}, "f32[H,B,S] sliced(1)"},
       {turn, {x(sliced(0, 1))}, "f32[H,B,S] sliced(1..2)"},
       {turn, {x(partial(Fold::max))}, "f32[H,B,S] partial(max)"},
       {Transpose{{0, 1, 2}}, {x(sliced_flat())}, "f32[B,S,H] sliced(*)"},
       {Reshape{{b * s, h}}, {x(sliced(0, 1))}, "f32[B*S,H] sliced(0)"},
       {Reshape{{b * s, h}}, {x(sliced(2))}, "f32[B*S,H] sliced(1)"},
       {Reshape{{b, s * h}}, {x(sliced(0))}, "f32[B,H*S] sliced(0)"},
       {Reshape{{b * s * h}}, {x(sliced_flat())}, "f32[B*H*S] sliced(*)"},
       {Reshape{{b, Dim(1), s, h}}, {x(sliced(1))}, "f32[B,1,S,H] sliced(2)"},
       {Reshape{{b, s, h}}, {merged}, "f32[B,S,H] sliced(0..1)"},
       {Reshape{{Dim(4), Dim(2), h}}, {of({"8", "H"}, sliced(0))}, "f32[4,2,H] sliced(0..1)"},
       {Reshape{{}}, {of({"1", "1"}, partial())}, "f32[] partial(+)"},
       {Narrow{2, Dim(0), Dim(3)}, {x(sliced(0, 1))}, "f32[B,S,3] sliced(0..1)"},
       {Narrow{0, dim("N"), dim("M")}, {x(local())}, "f32[M,S,H] local"},
       {Concat{2, {}}, {x(sliced(0, 1)), x(sliced(0, 1))}, "f32[B,S,2*H] sliced(0..1)"},
       {Concat{0, dim("N")},
        {x(partial()), of({"M", "S", "H"}, partial())},
        "f32[N,S,H] partial(+)"},
       {Concat{0, {}}, {x(local()), x(replicated())}, "f32[2*B,S,H] local"},
       {Concat{1, {}}, {x(sliced(2))}, "f32[B,S,H] sliced(2)"}},
      kOne.mesh());
  expect_all({{Transpose{{1, 2, 0}},
               {on({"B", "S", "H"}, {{tp, sliced(1)}, {dp, sliced(1, 2)}})},
               "f32[S,H,B] sliced(0)@tp sliced(0..1)@dp"},
              {Reshape{{b * s, h}},
               {on({"B", "S", "H"}, {{dp, sliced(0, 1)}, {tp, sliced(2)}})},
               "f32[B*S,H] sliced(0)@dp sliced(1)@tp"}},
             kTwo.mesh());
}

}  // namespace
}  // namespace coconet
