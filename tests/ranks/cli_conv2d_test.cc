// Convolutions: compiled, run, verified.
#include <gmock/gmock.h>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using testing::HasSubstr;

constexpr const char* kLayers = R"(
mesh world(tp)
dim N, C, O, H, W, OH, OW, K
dtype T = f32
program layers(x: T[N,C,2*H,W], xn: T[N,C,2*H,W] sliced(0), xc: T[N,C,2*H,W] sliced(1),
               w: T[O,C,3,3], wo: T[O,C,3,3] sliced(0), wc: T[O,C,3,3] sliced(1),
               y: T[N,C,H,W] local, v: T[O,C,K,2], b: T[O,1,1]) {
  one = conv2d(x, w, padding=1) + b
  two = conv2d(xn, w, padding=1)
  three = all_gather(conv2d(x, wo, padding=1))
  part = conv2d(xc, wc, padding=1)
  four = all_reduce(part, +)
  five = conv2d(y, v, stride=2, padding=3, size=[OH,OW])
  return one, two, three, four, five
}
schedule s for layers {
  rs, ag = split(four)
}
)";

TEST(CliConv2d, EveryPlacementAndDtype) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64"}) {
    expect_verified(kLayers,
                    "--ranks 3 --dim N=4,C=5,O=7,H=3,W=6,K=3,OH=4,OW=6 --schedule s --dtype T=" +
                        std::string(dtype));
  }
}

TEST(CliConv2d, EmptyAndLargerThanAStrip) {
  expect_verified(kLayers, "--ranks 3 --dim N=0,C=5,O=7,H=3,W=6,K=3,OH=4,OW=6");
  expect_verified(kLayers, "--ranks 2 --dim N=2,C=0,O=1,H=0,W=6,K=0,OH=4,OW=6");
  // Windows of one image take 9 MiB.
  expect_verified(kLayers, "--ranks 2 --dim N=1,C=16,O=2,H=64,W=127,K=5,OH=33,OW=66");
}

TEST(CliConv2d, SizesThatDoNotFitAreRefused) {
  const test::TemporaryFolder folder;
  test::write_text(folder.path("p.coco"), kLayers);
  const ToolResult result = run_tool("run " + folder.path("p.coco") +
                                     " --ranks 1 --dim N=1,C=1,O=1,H=3,W=6,K=3,OH=4,OW=5");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("conv2d has 6 places for a window of 2 along dim 3 of W = 6, "
                                    "whose size in the result is to be OW = 5"));
}

TEST(CliConv2d, OverlapsImageByImageWithItsAllReduce) {
  expect_verified(R"(
mesh world(dp, tp)
dim N, C, O, H, W
program block(x: f32[N,C,H,W] sliced(0)@dp sliced(1)@tp, w: f32[O,C,3,3] sliced(1)@tp,
              b: f32[O,1,1]) {
  part = conv2d(x, w, padding=1)
  total = all_reduce(part, +)@tp
  out = relu(total + b)
  return out
}
schedule s for block {
  rs, ag = split(total)
  body, gather = reorder(ag, [out])
  ar = fuse(rs, body, gather)
  overlap(part, ar)
}
)",
                  "--mesh dp=2,tp=2 --dim N=9,C=3,O=4,H=5,W=6 --schedule s --chunks 2");
}

}  // namespace
}  // namespace coconet::tests
