// What conv2d accepts, the type it gives (docs/language.md), and what it refuses in which words.
#include <gtest/gtest.h>

#include "coconet/graph/infer.h"
#include "tests/refusal.h"
#include "tests/unit/graph/infer_table.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

TensorType x(const Placement& placement = Replicated{}) {
  return of({"N", "C", "H", "W"}, placement);
}
TensorType w(const Placement& placement = Replicated{}, const std::string& window = "3") {
  return of({"O", "C", window, window}, placement);
}

void refused(const Op& op, const std::vector<TensorType>& operands,
             const std::vector<std::string>& words) {
  SCOPED_TRACE(words.front());
  expect_refused([&] { infer(op, operands, kOne.mesh()); }, words);
}

const Op kSame = Conv2d{1, 1, {}};  // of windows of 3

TEST(InferConv2d, Placements) {
  expect_all({{kSame, {x(), w()}, "f32[N,O,H,W]"},
              {kSame, {x(sliced(0)), w()}, "f32[N,O,H,W] sliced(0)"},
              {kSame, {x(), w(sliced(0))}, "f32[N,O,H,W] sliced(1)"},
              {kSame, {x(sliced(1)), w(sliced(1))}, "f32[N,O,H,W] partial(+)"},
              {kSame, {x(local()), w()}, "f32[N,O,H,W] local"},
              {kSame, {x(), w(local())}, "f32[N,O,H,W] local"},
              {kSame, {x(rooted(1)), w()}, "f32[N,O,H,W] rooted(1)"}},
             kOne.mesh());
  const std::vector<std::string> image = {"N", "C", "H", "W"}, window = {"O", "C", "3", "3"};
  expect_all({{kSame,
               {on(image, {{dp, sliced(0)}}), on(window, {{tp, sliced(0)}})},
               "f32[N,O,H,W] sliced(0)@dp sliced(1)@tp"},
              {kSame,
               {on(image, {{dp, sliced(0)}, {tp, sliced(1)}}), on(window, {{tp, sliced(1)}})},
               "f32[N,O,H,W] sliced(0)@dp partial(+)@tp"}},
             kTwo.mesh());
}

TEST(InferConv2d, Sizes) {
  const TensorType small = of({"N", "C", "9", "7"});
  const auto even = [](const Dim& width) {
    TensorType out = x();
    out.shape = {dim("N"), dim("C"), 2 * dim("H"), width};
    return out;
  };
  const Shape given = {dim("OH"), dim("OW")};
  expect_all({{Conv2d{}, {small, w()}, "f32[N,O,7,5]"},
              {Conv2d{2, 0, {}}, {small, w()}, "f32[N,O,4,3]"},
              {Conv2d{2, 1, {}}, {even(4 * dim("W")), w()}, "f32[N,O,H,2*W]"},
              {Conv2d{2, 0, {}}, {even(2 * dim("W")), w(Replicated{}, "2")}, "f32[N,O,H,W]"},
              {Conv2d{1, 0, {}}, {x(), w(Replicated{}, "1")}, "f32[N,O,H,W]"},
              {Conv2d{1, 0, given}, {x(), w()}, "f32[N,O,OH,OW]"},
              {Conv2d{3, 2, given}, {x(), w(Replicated{}, "K")}, "f32[N,O,OH,OW]"},
              {Conv2d{1, 1, Shape{dim("H"), dim("W")}}, {x(), w()}, "f32[N,O,H,W]"}},
             kOne.mesh());
}

TEST(InferConv2d, RefusesPlacements) {
  refused(kSame, {x(sliced(2)), w()}, {"sliced(2)", "its neighbours there", "images, (0)"});
  refused(kSame, {x(sliced(0, 1)), w()}, {"x is sliced(0..1)"});
  refused(kSame, {x(sliced_flat()), w()}, {"x is sliced(*)"});
  refused(kSame, {x(), w(sliced(3))}, {"w is sliced(3)", "all_gather(w) first"});
  refused(kSame, {x(sliced(1)), w()},
          {"on axis tp the operands are sliced(1) and replicated",
           "both sliced by their input channels"});
  refused(kSame, {x(), w(sliced(1))}, {"replicated and sliced(1)"});
  refused(kSame, {x(sliced(0)), w(sliced(0))}, {"sliced(0) and sliced(0)"});
  refused(kSame, {x(partial()), w()}, {"an operand is partial", "all_reduce(x, +)"});
}

TEST(InferConv2d, RefusesShapes) {
  refused(kSame, {of({"C", "H", "W"}), w()}, {"four dims", "x[n, c, h, w]"});
  refused(kSame, {of({"N", "D", "H", "W"}), w()}, {"x has D input channels", "w C"});
  refused(Conv2d{}, {x(), w()}, {"dim 2 of the result is no product of dims", "size=[OH,OW]"});
  refused(Conv2d{2, 1, {}}, {x(), w()}, {"no product of dims"});
  refused(Conv2d{}, {of({"N", "C", "2", "9"}), w()}, {"a window of 3 has no place along dim 2"});
  refused(Conv2d{1, 1, Shape{dim("H"), dim("O")}}, {x(), w()},
          {"dim 3 of the result is W, but size= gives O"});
  refused(Conv2d{1, 1, Shape{dim("H")}}, {x(), w()}, {"size= has 1 dims"});
  refused(Conv2d{0, 1, {}}, {x(), w()}, {"found stride 0"});
  refused(Conv2d{1, -1, {}}, {x(), w()}, {"found padding -1"});
  refused(
      kSame,
      {of({"N", "C", "H", "W"}, Replicated{}, i32), of({"O", "C", "3", "3"}, Replicated{}, i32)},
      {"needed a floating dtype"});
  refused(kSame, {x(), of({"O", "C", "3", "3"}, Replicated{}, f16)},
          {"nothing is promoted silently"});
}

}  // namespace
}  // namespace coconet
