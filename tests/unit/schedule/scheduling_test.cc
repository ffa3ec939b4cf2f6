// The C++ form of schedules gives the text form's graphs.
#include "coconet/schedule/scheduling.h"

#include <gmock/gmock.h>

#include "coconet/graph/print.h"
#include "coconet/program/program.h"
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

TEST(Scheduling, ReadsAsTheTextForm) {
  Tail t;
  Scheduling s("overlapped", t.p.graph());
  const auto [rs, ag] = s.split(t.total).as("rs", "ag");
  const auto [body, gather] = s.reorder(ag, {t.drop, t.out}).as("body", "gather");
  const auto [ar] = s.fuse({rs, body, gather}).as("ar");
  s.overlap({t.layer, ar});
  EXPECT_EQ(text_of(s.schedule()),
            "schedule overlapped for tail {\n"
            "  rs, ag = split(total)\n"
            "  body, gather = reorder(ag, [drop, out])\n"
            "  ar = fuse(rs, body, gather)\n"
            "  overlap(layer, ar)\n"
            "}\n");
  EXPECT_EQ(parse_schedule(text_of(s.schedule())), s.schedule());
  EXPECT_EQ(apply(t.p.graph(), s.schedule()).graph, s.graph());
}

// The schedule `sliced` of examples/pipeline.coco, and one that fuses the whole send.
TEST(Scheduling, OnAMeshOfStages) {
  Program p("stage", Mesh{"world", {"pp", "tp"}});
  const Dim N = p.dim("N");
  const Tensor x = p.input("x", f32, {N}, {local().on("pp"), partial(Fold::sum).on("tp")});
  const Tensor total = p.let("total", all_reduce(x, Fold::sum, on("tp")));
  const Tensor y = p.let("y", total * 2);
  const Tensor back = p.let("back", shift(y, "pp", -1, true));
  const Tensor stages = p.let("stages", stack(back, on("pp")));
  const Tensor parts = p.let("parts", all_to_all(stages, Slice::dim(0), Slice::all(), on("pp")));
  p.returns({parts});
  Scheduling s("sliced", p.graph());
  const auto [piece, whole] = s.distribute(y, Slice::all(), "tp").as("piece", "whole");
  s.reorder(whole, {back}).as("body", "gather");
  EXPECT_EQ(text_of(s.schedule()),
            "schedule sliced for stage {\n"
            "  piece, whole = distribute(y, (*), tp)\n"
            "  body, gather = reorder(whole, [back])\n"
            "}\n");
  Scheduling fused("fused", p.graph());
  fused.fuse({y, back});
  EXPECT_EQ(print(parse_program(print(s.graph(), true)), true), print(s.graph(), true));
  EXPECT_EQ(parts.type().text(p.graph().mesh()), "f32[pp,N] sliced(*)@pp");
}

TEST(Scheduling, TensorsOfTheProgramSurviveSteps) {
  Tail t;
  Scheduling s("s", t.p.graph());
  s.split(t.total);  // `total` is the gather now
  s.reorder(t.total, {t.drop, t.out});
  s.fuse({"out'", t.out});  // `out` is the new gather
  EXPECT_EQ(s.graph().groups().size(), 1u);
}

TEST(Scheduling, NamesSlicesKindsAndAxes) {
  Program p("two", Mesh{"world", {"dp", "tp"}});
  const Dim N = p.dim("N");
  const Tensor g = p.input("g", f32, {N}, local().on("dp", "tp"));
  const Tensor total = p.let("total", all_reduce(g, Fold::sum, on("dp", "tp")));
  const Tensor x = p.input("x", f32, {N});
  p.returns({p.let("out", total * x)});
  Scheduling s("s", p.graph());
  s.split(total, "hierarchical", Slice::dim(0)).as("rs", "ar", "ag");
  s.distribute(x, Slice::all(), "dp");
  s.distribute(total, std::nullopt, "tp");
  EXPECT_EQ(text_of(s.schedule()),
            "schedule s for two {\n"
            "  rs, ar, ag = split(total, (0), hierarchical)\n"
            "  distribute(x, (*), dp)\n"
            "  distribute(total, tp)\n"
            "}\n");
  EXPECT_EQ(apply(p.graph(), s.schedule()).graph, s.graph());
}

TEST(Scheduling, RefusesAtThePlaceOfTheCallAndStaysAsItWas) {
  Tail t;
  Scheduling s("s", t.p.graph());
  const auto refused = [&](auto step, const std::string& words) {
    try {
      step();
      ADD_FAILURE() << "accepted";
    } catch (const UserError& error) {
      EXPECT_THAT(error.where().file, ::testing::HasSubstr("scheduling_test.cc"));
      EXPECT_THAT(error.message(), ::testing::HasSubstr(words));
    }
  };
  refused([&] { s.split(t.layer); }, "not an all_reduce");
  refused([&] { s.fuse({t.biased, t.drop}); }, "this tensor has no name");
  refused([&] { s.split(t.total, "hierarchical"); }, "needs two");
  EXPECT_TRUE(s.schedule().steps.empty());
  EXPECT_EQ(s.graph(), t.p.graph());
}

}  // namespace
}  // namespace coconet
