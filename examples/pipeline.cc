// examples/pipeline.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("pipeline", Mesh{"world", {"pp", "tp"}});
  const Dim B = p.dim("B"), S = p.dim("S"), H = p.dim("H");
  const DType T = p.dtype("T", f16);
  const Tensor x = p.input("x", T, {B, S, H}, {local().on("pp"), partial(Fold::sum).on("tp")});
  const Tensor b = p.input("b", T, {H}, local().on("pp"));
  const Tensor r = p.input("r", T, {B, S, H}, local().on("pp"));
  const Tensor rate = p.scalar("rate", f32, 0.1);

  const Tensor total = p.let("total", all_reduce(x, Fold::sum, on("tp")));
  const Tensor y = p.let("y", dropout(total + b, rate) + r);
  const Tensor out = p.let("out", shift(y, "pp", 1));
  p.returns({out});

  Scheduling s("overlapped", p.graph());
  const auto [rs, ag] = s.split(total, Slice::range(0, 1)).as("rs", "ag");
  const auto [body, gather] = s.reorder(ag, {y, out}).as("body", "gather");
  const auto [send] = s.fuse({body}).as("send");
  s.overlap({rs, send, gather});

  return examples::same_as("examples/pipeline.coco", p.graph(), s.schedule());
}
