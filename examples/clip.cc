// examples/clip.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("clip", Mesh{"world", {"dp"}});
  const Dim N = p.dim("N_i");  // one size for each member of a list
  const DType G = p.dtype("G", f16);
  const Tensor g = p.input("g", G, list({N}), local());
  const Tensor p0 = p.input("p", f32, list({N}));
  const Tensor lr = p.scalar("lr", f32, 1e-3);
  const Tensor limit = p.scalar("limit", f32, 1.0);

  const Tensor total = p.let("total", all_reduce(cast(g, f32), Fold::sum));
  const Tensor avg = p.let("avg", total / p.size("dp"));
  const Tensor norms = p.let("norms", norm(avg));
  const Tensor whole = p.let("whole", sqrt(across(norms * norms, Fold::sum)));
  const Tensor scale = p.let("scale", min(limit / whole, 1));
  const Tensor p2 = p.let("p2", update(p0, p0 - lr * scale * avg));
  p.returns({p2});

  Scheduling s("sharded", p.graph());
  const auto [rs, ag] = s.split(total).as("rs", "ag");
  const auto [body, gp] = s.reorder(ag, {avg, norms, whole, scale, p2}).as("body", "gp");
  s.fuse({rs, body, gp});

  return examples::same_as("examples/clip.coco", p.graph(), s.schedule());
}
