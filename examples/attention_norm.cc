// examples/attention_norm.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("attention_norm", Mesh{"world", {"tp"}});
  const Dim B = p.dim("B"), S = p.dim("S"), H = p.dim("H");
  const DType T = p.dtype("T", f16);
  const Tensor x = p.input("x", T, {B, S, H}, sliced(2));
  const Tensor w = p.input("w", T, {H, H}, sliced(0));
  const Tensor b = p.input("b", T, {H});
  const Tensor r = p.input("r", T, {B, S, H});
  const Tensor gamma = p.input("gamma", T, {H});
  const Tensor beta = p.input("beta", T, {H});
  const Tensor rate = p.scalar("rate", f32, 0.1);
  const Tensor eps = p.scalar("eps", f32, 1e-12);

  const Tensor layer = p.let("layer", matmul(x, w));
  const Tensor total = p.let("total", all_reduce(layer, Fold::sum));
  const Tensor drop = p.let("drop", dropout(total + b, rate));
  const Tensor added = p.let("added", drop + r);
  const Tensor out = p.let("out", layer_norm(added, gamma, beta, eps));
  p.returns({out});

  Scheduling s("overlapped", p.graph());
  const auto [rs, ag] = s.split(total).as("rs", "ag");
  const auto [body, gather] = s.reorder(ag, {drop, added, out}).as("body", "gather");
  const auto [ar] = s.fuse({rs, body, gather}).as("ar");
  s.overlap({layer, ar});

  return examples::same_as("examples/attention_norm.coco", p.graph(), s.schedule());
}
