// examples/lamb_list.coco in the C++ form: the same graph and the same schedules.
#include "coconet/program/program.h"
#include "coconet/schedule/scheduling.h"
#include "examples/same_as.h"

using namespace coconet;

int main() {
  Program p("lamb_list", Mesh{"world", {"dp"}});
  const Dim N = p.dim("N_i");  // one size for each member of a list
  const DType G = p.dtype("G", f16);
  const Tensor g = p.input("g", G, list({N}), local());
  const Tensor p0 = p.input("p", f32, list({N}));
  const Tensor m = p.state("m", f32, list({N}));
  const Tensor v = p.state("v", f32, list({N}));
  const Tensor t = p.scalar("t", i32);
  const Tensor lr = p.scalar("lr", f32, 1e-3);
  const Tensor beta1 = p.scalar("beta1", f32, 0.9);
  const Tensor beta2 = p.scalar("beta2", f32, 0.999);
  const Tensor eps = p.scalar("eps", f32, 1e-8);
  const Tensor wd = p.scalar("wd", f32, 0.01);

  const Tensor total = p.let("total", all_reduce(cast(g, f32), Fold::sum));
  const Tensor avg = p.let("avg", total / p.size("dp"));
  const Tensor m2 = p.let("m2", update(m, beta1 * m + (1 - beta1) * avg));
  const Tensor v2 = p.let("v2", update(v, beta2 * v + (1 - beta2) * avg * avg));
  const Tensor mh = p.let("mh", m2 / (1 - pow(beta1, t)));
  const Tensor vh = p.let("vh", v2 / (1 - pow(beta2, t)));
  const Tensor u = p.let("u", mh / (sqrt(vh) + eps) + wd * p0);
  const Tensor np = p.let("np", norm(p0));
  const Tensor nu = p.let("nu", norm(u));
  const Tensor ratio = p.let("ratio", where(np > 0 && nu > 0, np / nu, 1));
  const Tensor p2 = p.let("p2", update(p0, p0 - lr * ratio * u));
  p.returns({p2});

  Scheduling s("sharded", p.graph());
  const auto [rs, ag] = s.split(total).as("rs", "ag");
  const auto [body, gm, gv, gp] =
      s.reorder(ag, {avg, m2, v2, mh, vh, u, np, nu, ratio, p2}).as("body", "gm", "gv", "gp");
  s.as_slice(m);
  s.as_slice(v);
  s.dead(gm);
  s.dead(gv);
  s.fuse({rs, body, gp});

  return examples::same_as("examples/lamb_list.coco", p.graph(), s.schedule());
}
