// Products of transposed operands, operations on rows and movement of data: compiled, run,
// verified.
#include <gmock/gmock.h>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

TEST(CliOperations, SoftmaxAndRmsNorm) {
  expect_verified(R"(
mesh world(tp)
dim B, S, H
dtype T = f16
program it(x: T[B,S,H] partial(+), c: T[B,S,H] sliced(2), r: T[B,S,H], g: T[H]) {
  total = all_reduce(x, +)
  unit = rms_norm(total + r, g, 1e-5)
  shares = softmax(unit)
  out = shares * 2 + r
  cols = softmax(r, [0,1])
  cut = all_gather(softmax(c) + rms_norm(c, g, 0.001))
  return out, cols, cut
}
schedule s for it {
  rs, ag = split(total)
  body, gather = reorder(ag, [unit, shares, out])
  fuse(rs, body, gather)
}
)",
                  "--ranks 3 --dim B=3,S=5,H=33 --schedule s");
}

TEST(CliOperations, ProductsOfTransposedOperands) {
  const char* const program = R"(
mesh world(tp)
dim A, B, H, K
dtype T = f16
program products(x: T[B,K], xm: T[K,B] sliced(1), xk: T[K,B] sliced(0), w: T[H,K],
                 wn: T[H,K] sliced(0), wk: T[H,K] sliced(1), b: T[A,K,B], bm: T[A,K,B] sliced(2),
                 ba: T[A,K,B] sliced(0), v: T[A,H,K], va: T[A,H,K] sliced(0), y: T[K,H]) {
  one = matmul(xm, w, ta=true, tb=true)
  two = all_reduce(matmul(xk, wk, ta=true, tb=true), +)
  three = matmul(x, wn, tb=true)
  four = matmul(b, y, ta=true)
  five = matmul(bm, w, ta=true, tb=true, out=T)
  six = matmul(ba, v, ta=true, tb=true)
  seven = matmul(b, va, ta=true, tb=true)
  eight = matmul(xk, y, ta=true)
  nine = all_gather(matmul(xm, y, ta=true)) + matmul(x, y)
  return one, two, three, four, five, six, seven, eight, nine
}
)";
  for (const char* dtype : {"f16", "f64"}) {
    expect_verified(program, "--ranks 3 --dim A=4,B=5,H=7,K=70 --dtype T=" + std::string(dtype));
  }
}

TEST(CliOperations, ProductsInChunks) {
  expect_verified(R"(
mesh world(tp)
dim B, S, H, K
program it(x: f32[K,B] sliced(0), w: f32[H,K] sliced(1), y: f32[B,S,K] sliced(2),
           v: f32[B,K,H] sliced(1)) {
  layer = matmul(x, w, ta=true, tb=true)
  a = all_reduce(layer, +)
  batched = matmul(y, v)
  b = all_reduce(batched, +)
  return a, b
}
schedule s for it {
  rs, ag = split(a, (0))
  overlap(layer, rs, ag)
  rs2, ag2 = split(b, (0..1))
  overlap(batched, rs2, ag2)
}
)",
                  "--ranks 3 --dim B=13,S=4,H=7,K=70 --schedule s --chunks 3");
}

TEST(CliOperations, HeadsOfAttention) {
  expect_verified(R"(
mesh world(tp)
dim B, S, H, nh, hd
dtype T = f16
require H == nh * hd and nh % size(tp) == 0
program attention(x: T[B,S,H], wqkv: T[H,nh,3*hd] sliced(1), wo: T[H,H] sliced(0), r: T[B,S,H]) {
  qkv = matmul(reshape(x, [B*S,H]), reshape(wqkv, [H,3*H]))
  heads = transpose(reshape(qkv, [B,S,nh,3*hd]), [0,2,1,3])
  q = narrow(heads, 3, 0, hd)
  k = narrow(heads, 3, hd, hd)
  v = narrow(heads, 3, 2*hd, hd)
  weights = softmax(matmul(q, k, tb=true))
  mixed = reshape(transpose(matmul(weights, v), [0,2,1,3]), [B,S,H])
  layer = matmul(mixed, wo)
  total = all_reduce(layer, +)
  out = total + r
  return out
}
schedule s for attention {
  rs, ag = split(total, (0..1))
  body, gather = reorder(ag, [out])
  ar = fuse(rs, body, gather)
  overlap(layer, ar)
}
)",
                  "--ranks 2 --dim B=2,S=5,H=12,nh=4,hd=3 --schedule s");
}

TEST(CliOperations, MovementOfData) {
  const char* const program = R"(
mesh world(dp, tp)
dim B, S, H, T
program it(x: f16[B,S,H] sliced(0..1)@tp, y: f16[B,S,H] sliced(2)@dp sliced(0)@tp,
           u: f32[B] local@dp, p: f32[B,2*H] partial(+)@tp, z: f16[H,B*S] sliced(1)@[dp,tp],
           f: f16[B,S,H] sliced(*)@dp, b: bool[S,H], i: i64[H,B], state m: f32[H,B]) {
  a = transpose(x, [2,0,1])
  c = reshape(x, [B*S,H]) * 2
  d = transpose(y, [1,2,0])
  e = reshape(z, [H,B,S])
  g = concat(narrow(p, 1, 0, H), narrow(p, 1, H, H), p, 1)
  h = all_reduce(g, +)@tp
  k = concat(y, y * y, narrow(y, 1, 0, 1), 1, size=T)
  l = reshape(f, [B*S*H]) + 1
  n = concat(b, not b, 0)
  o = transpose(i, [1,0])
  q = update(m, transpose(cast(o, f32), [1,0]))
  s = reshape(transpose(concat(q, q * 2, 0), [1,0]), [2*B*H])
  t = concat(u, u, 0)
  return a, c, d, e, h, k, l, n, o, s, t
}
)";
  for (const char* mesh : {"dp=1,tp=1", "dp=2,tp=3"}) {
    expect_verified(program, "--dim B=2,S=3,H=700,T=7 --mesh " + std::string(mesh));
  }
  expect_verified(program, "--dim B=0,S=3,H=4,T=7 --mesh dp=2,tp=2");
}

}  // namespace
}  // namespace coconet::tests
