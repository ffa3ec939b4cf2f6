// examples/attention.coco in the C++ form: the same graph.
#include "coconet/program/program.h"
#include "examples/same_graph.h"

using namespace coconet;

int main() {
  Program p("attention", Mesh{"world", {"tp"}});
  const Dim B = p.dim("B"), S = p.dim("S"), H = p.dim("H");
  const DType T = p.dtype("T", f16);
  const Tensor x = p.input("x", T, {B, S, H}, sliced(2));
  const Tensor w = p.input("w", T, {H, H}, sliced(0));
  const Tensor b = p.input("b", T, {H});
  const Tensor r = p.input("r", T, {B, S, H});
  const Tensor rate = p.scalar("rate", f32, 0.1);

  const Tensor layer = p.let("layer", matmul(x, w));
  const Tensor total = p.let("total", all_reduce(layer, Fold::sum));
  const Tensor drop = p.let("drop", dropout(total + b, rate));
  const Tensor out = p.let("out", drop + r);
  p.returns({out});

  return examples::same_graph(p.graph(), "examples/attention.coco");
}
