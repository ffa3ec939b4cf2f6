// examples/moe.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("moe", Mesh{"world", {"ep"}});
  const Dim E = p.dim("E"), C = p.dim("C"), H = p.dim("H"), F = p.dim("F");
  const DType T = p.dtype("T", f32);
  const Tensor x = p.input("x", T, {C, H}, sliced(0));
  const Tensor logits = p.input("logits", T, {E, C, 1}, sliced(1));
  const Tensor w1 = p.input("w1", T, {E, H, F}, sliced(0));
  const Tensor w2 = p.input("w2", T, {E, F, H}, sliced(0));
  const Tensor least = p.scalar("least", T, 0.1);

  const Tensor odds = p.let("odds", exp(logits - max(logits, over(0))));
  const Tensor weight = p.let("weight", odds / sum(odds, over(0)));
  const Tensor routed = p.let("routed", where(weight >= least, x, 0));
  const Tensor sent = p.let("sent", all_to_all(routed, Slice::dim(1), Slice::dim(0)));
  const Tensor inner = p.let("inner", matmul(sent, w1));
  const Tensor hidden = p.let("hidden", gelu(inner));
  const Tensor answer = p.let("answer", matmul(hidden, w2));
  const Tensor back = p.let("back", all_to_all(answer, Slice::dim(0), Slice::dim(1)));
  const Tensor out = p.let("out", sum(weight * back, over(0)));
  p.returns({out});

  Scheduling s("overlapped", p.graph());
  s.fuse({routed, sent}).as("dispatch");
  s.overlap({inner, hidden, answer, back});

  return examples::same_as("examples/moe.coco", p.graph(), s.schedule());
}
