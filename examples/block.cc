// examples/block.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("block", Mesh{"world", {"tp"}});
  const Dim S = p.dim("S"), B = p.dim("B"), H = p.dim("H"), F = p.dim("F");
  const Dim nh = p.dim("nh"), hd = p.dim("hd");
  const DType T = p.dtype("T", f16);
  p.require("nh % size(tp) == 0");
  const Tensor x = p.input("x", T, {S, B, H}, sliced(0));
  const Tensor gamma1 = p.input("gamma1", T, {H}), beta1 = p.input("beta1", T, {H});
  const Tensor wqkv = p.input("wqkv", T, {H, 3 * nh * hd}, sliced(1));
  const Tensor wo = p.input("wo", T, {nh * hd, H}, sliced(0));
  const Tensor bo = p.input("bo", T, {H});
  const Tensor gamma2 = p.input("gamma2", T, {H}), beta2 = p.input("beta2", T, {H});
  const Tensor w1 = p.input("w1", T, {H, F}, sliced(1)), b1 = p.input("b1", T, {F}, sliced(0));
  const Tensor w2 = p.input("w2", T, {F, H}, sliced(0)), b2 = p.input("b2", T, {H});
  const Tensor scale = p.scalar("scale", T, 0.125);
  const Tensor rate = p.scalar("rate", f32, 0.1);
  const Tensor eps = p.scalar("eps", f32, 1e-5);

  const Tensor norm1 = p.let("norm1", layer_norm(x, gamma1, beta1, eps));
  const Tensor seq1 = p.let("seq1", all_gather(norm1));
  const Tensor qkv = p.let("qkv", reshape(matmul(seq1, wqkv), {S, B, nh, 3 * hd}));
  const Tensor heads = p.let("heads", transpose(qkv, {1, 2, 0, 3}));
  const Tensor keys = p.let("keys", narrow(heads, 3, hd, hd));
  const Tensor products = matmul(narrow(heads, 3, 0, hd), keys, Transposed{.b = true});
  const Tensor odds = p.let("odds", softmax(scale * products));
  const Tensor values = narrow(heads, 3, 2 * hd, hd);
  const Tensor mixed = p.let("mixed", transpose(matmul(odds, values), {2, 0, 1, 3}));
  const Tensor proj = p.let("proj", matmul(reshape(mixed, {S, B, nh * hd}), wo));
  const Tensor part1 = p.let("part1", reduce_scatter(proj, Fold::sum, Slice::dim(0)));
  const Tensor mid = p.let("mid", dropout(part1 + bo, rate) + x);
  const Tensor norm2 = p.let("norm2", layer_norm(mid, gamma2, beta2, eps));
  const Tensor seq2 = p.let("seq2", all_gather(norm2));
  const Tensor inner = p.let("inner", matmul(seq2, w1));
  const Tensor act = p.let("act", gelu(inner + b1));
  const Tensor layer = p.let("layer", matmul(act, w2));
  const Tensor part2 = p.let("part2", reduce_scatter(layer, Fold::sum, Slice::dim(0)));
  const Tensor out = p.let("out", dropout(part2 + b2, rate) + mid);
  p.returns({out});

  Scheduling s("overlapped", p.graph());
  s.fuse({norm1, seq1}).as("first");
  const auto [middle] = s.fuse({part1, mid, norm2, seq2}).as("middle");
  const auto [hidden] = s.fuse({act}).as("hidden");
  const auto [last] = s.fuse({part2, out}).as("last");
  s.overlap({proj, middle, inner, hidden, layer, last});

  return examples::same_as("examples/block.coco", p.graph(), s.schedule());
}
