// examples/momentum.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("momentum", Mesh{"world", {"dp", "tp"}});
  const Dim K = p.dim("K"), H = p.dim("H");
  const DType G = p.dtype("G", f16);
  const Tensor g = p.input("g", G, {K, H}, {local().on("dp"), sliced(1).on("tp")});
  const Tensor p0 = p.input("p", f32, {K, H}, sliced(1).on("tp"));
  const Tensor m = p.state("m", f32, {K, H}, {sliced(1).on("tp"), sliced_all().on("dp")});
  const Tensor lr = p.scalar("lr", f32, 1e-3);
  const Tensor beta = p.scalar("beta", f32, 0.9);

  const Tensor total = p.let("total", all_reduce(cast(g, f32), Fold::sum, on("dp")));
  const Tensor avg = p.let("avg", total / p.size("dp"));
  const Tensor mine = shard(avg, Slice::all(), on("dp"));
  const Tensor m2 = p.let("m2", update(m, beta * m + mine));
  const Tensor step = p.let("step", all_gather(m2, on("dp")));
  const Tensor p2 = p.let("p2", update(p0, p0 - lr * step));
  p.returns({p2});

  Scheduling s("sharded", p.graph());
  const auto [rs, ag] = s.split(total).as("rs", "ag");
  const auto [body] = s.reorder(ag, {avg, m2}).as("body");
  const auto [last, gp] = s.reorder(step, {p2}).as("last", "gp");
  s.fuse({rs, body, last, gp});

  return examples::same_as("examples/momentum.coco", p.graph(), s.schedule());
}
