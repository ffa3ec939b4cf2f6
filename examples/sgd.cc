// examples/sgd.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("sgd", Mesh{"world", {"dp"}});
  const Dim N = p.dim("N");
  const DType G = p.dtype("G", f16);
  const Tensor g = p.input("g", G, {N}, local());
  const Tensor p0 = p.input("p", f32, {N});
  const Tensor lr = p.scalar("lr", f32, 1e-3);

  const Tensor total = p.let("total", all_reduce(cast(g, f32), Fold::sum));
  const Tensor avg = p.let("avg", total / p.size("dp"));
  const Tensor p2 = p.let("p2", update(p0, p0 - lr * avg));
  p.returns({p2});

  Scheduling s("sharded", p.graph());
  const auto [rs, ag] = s.split(total).as("rs", "ag");
  const auto [body, gp] = s.reorder(ag, {avg, p2}).as("body", "gp");
  s.fuse({rs, body, gp});

  return examples::same_as("examples/sgd.coco", p.graph(), s.schedule());
}
