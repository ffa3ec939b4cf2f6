// The C++ form of schedules gives the text form's graphs.
#include "coconet/schedule/scheduler.h"

#include <gmock/gmock.h>

#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"

namespace coconet {
namespace {

struct Tail {
  Program p{"tail", Mesh{"world", {"tp"}}};
  Dim B = p.dim("B"), S = p.dim("S"), H = p.dim("H");
  Tensor x = p.input("x", f32, {B, S, H}, sliced(2));
  Tensor w = p.input("w", f32, {H, H}, sliced(0));
  Tensor b = p.input("b", f32, {H});
  Tensor r = p.input("r", f32, {B, S, H});
  Tensor layer = p.let("layer", matmul(x, w));
  Tensor total = p.let("total", all_reduce(layer, Fold::sum));
  Tensor biased = total + b;
  Tensor drop = p.let("drop", dropout(biased, 0.5f));
  Tensor out = p.let("out", drop + r);
  Tail() { p.returns({out}); }
};

TEST(Scheduler, ReadsAsTheTextForm) {
  Tail t;
  Scheduler s(t.p, "overlapped");
  auto [rs, ag] = s.split(t.total);
  auto [body, gather] = s.reorder(ag, {t.drop, t.out});
  auto ar = s.fuse(rs, body, gather);
  s.overlap(t.layer, ar);
  EXPECT_EQ(text_of(s.schedule()),
            "schedule overlapped for tail {\n"
            "  rs, ag = split(total)\n"
            "  body, gather = reorder(ag, [drop, out])\n"
            "  fused_part = fuse(rs, body, gather)\n"
            "  pipeline = overlap(layer, fused_part)\n"
            "}\n");
  EXPECT_EQ(parse_schedule(text_of(s.schedule())), s.schedule());
  EXPECT_EQ(apply(t.p.graph(), s.schedule()).graph, s.graph());
  EXPECT_EQ(s.exactness(), Exactness::exact);
}

TEST(Scheduler, HandlesOfTheProgramSurviveSteps) {
  Tail t;
  Scheduler s(t.p);
  s.split(t.total);  // `total` is the gather now
  s.reorder(t.total, {t.drop, t.out});
  s.fuse(Part("out'"), t.out);  // `out` is the new gather
  EXPECT_EQ(s.graph().groups().size(), 1u);
}

TEST(Scheduler, AdamsGathersByTheirNumber) {
  Program p("momentum", Mesh{"world", {"dp"}});
  const Dim N = p.dim("N");
  const Tensor g = p.input("g", f16, {N}, local());
  const Tensor q = p.input("q", f32, {N});
  const Tensor m = p.state("m", f32, {N});
  const Tensor total = p.let("total", all_reduce(cast(g, f32), Fold::sum));
  const Tensor m2 = p.let("m2", update(m, m * 0.9 + total));
  const Tensor q2 = p.let("q2", update(q, q - m2));
  p.returns({q2});
  Scheduler s(p);
  auto [rs, ag] = s.split(total, Slice::all());
  EXPECT_THROW(s.reorder(ag, {m2, q2}), UserError);
  auto [body, gm, gq] = s.reorder<2>(ag, {m2, q2});
  s.as_slice(m);
  s.dead(gm);
  s.fuse(rs, body, gq);
  EXPECT_EQ(s.schedule().steps.size(), 5u);  // the refused step left nothing
  EXPECT_EQ(s.graph().groups().size(), 1u);
}

TEST(Scheduler, RefusesAtThePlaceOfTheCall) {
  Tail t;
  Scheduler s(t.p);
  try {
    s.split(t.layer);
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.where().file, ::testing::HasSubstr("scheduler_test.cc"));
    EXPECT_THAT(error.message(), ::testing::HasSubstr("not an all_reduce"));
  }
  try {
    s.fuse(t.biased, t.drop);
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.where().file, ::testing::HasSubstr("scheduler_test.cc"));
    EXPECT_THAT(error.message(), ::testing::HasSubstr("a tensor without a name"));
  }
}

TEST(Scheduler, OtherSplitsAndDistribute) {
  Tail t;
  Scheduler a(t.p), b(t.p), c(t.p);
  auto [reduced, whole] = a.split_reduce_broadcast(t.total);
  EXPECT_EQ(reduced.name() + whole.name(), "reducedwhole");
  auto [piece, gather] = b.distribute(t.drop, Slice::range(0, 1), on("tp"));
  b.reorder(gather, {t.out});
  EXPECT_EQ(text_of(b.schedule().steps[0]), "piece, whole = distribute(drop, (0..1), tp)");
  EXPECT_THROW(c.split_hierarchical(t.total), UserError);
}

}  // namespace
}  // namespace coconet
