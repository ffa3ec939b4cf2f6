// What a builder, a finished graph and new dtype bindings refuse.
#include <gtest/gtest.h>

#include "tests/graph_fixture.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

using namespace fixture;  // NOLINT: the fixture's words

TEST(BuilderRefusal, OfTakenNames) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId y = f.apply(PointwiseFn::neg, {x}, "y");
  expect_refused([&] { f.apply(PointwiseFn::exp, {x}, "y"); }, {"the name y is taken"});
  const NodeId z = f.apply(PointwiseFn::exp, {x});
  expect_refused([&] { f.builder.set_name(z, "x"); }, {"the name x is taken"});
  expect_refused([&] { f.builder.add_output("x", y); }, {"the name x is taken"});
  f.builder.add_output("y", y);
  expect_refused([&] { f.builder.add_output("y", y); }, {"the name y is taken"});
  f.builder.add_output("out", y);
  expect_refused([&] { f.apply(PointwiseFn::exp, {x}, "out"); }, {"the name out is taken"});
  expect_refused(
      [&] {
        f.builder.add_group({GroupKind::fused, "y", {y}, {}, {}});
      },
      {"the name y is taken"});
}

TEST(BuilderRefusal, OfMoreAxesThanThereMayBe) {
  Mesh mesh{"world", {"a", "b", "c", "d", "e", "f", "g", "h"}};
  GraphBuilder(Header{"p", mesh, {}, {}});
  mesh.axes.emplace_back("i");
  expect_refused(
      [&] {
        GraphBuilder(Header{"p", mesh, {}, {}});
      },
      {"has 9 axes; at most 8 are supported"});
}

TEST(BuilderRefusal, CarriesThePlace) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"}, partial());
  try {
    f.builder.add(Pointwise{PointwiseFn::sqrt}, {x}, "y", {"a.coco", 3, 7});
    FAIL() << "sqrt(partial) must be refused";
  } catch (const UserError& error) {
    EXPECT_EQ(error.where().text(), "a.coco:3:7");
    EXPECT_EQ(error.kind(), ErrorKind::type);
  }
}

TEST(UpdateRefusal, OfWhatIsNoStorage) {
  Fixture f;
  const NodeId x = f.input("x", f32, {"N"});
  const NodeId y = f.apply(PointwiseFn::neg, {x}, "y");
  const NodeId u = f.add(Update{}, {y, x}, "u");
  expect_refused([&] { f.finish({u}); }, {"u updates y", "no storage", "an input or a state"});
  Fixture g;
  const NodeId s = g.scalar("s", f32, 1);
  const NodeId v = g.add(Update{}, {s, s}, "v");
  expect_refused([&] { g.finish({v}); }, {"v updates s", "no storage"});
}

TEST(UpdateRefusal, OfASecondUpdate) {
  Fixture f;
  const NodeId m = f.state("m", f.type(f32, {"N"}));
  const NodeId a = f.add(Update{}, {m, f.apply(PointwiseFn::neg, {m})}, "a");
  const NodeId b = f.add(Update{}, {m, f.apply(PointwiseFn::exp, {m})}, "b");
  expect_refused([&] { f.finish({a, b}); }, {"m is updated twice, by a and by b"});
}

TEST(UpdateRefusal, OfAReaderOfTheOldValueThatDependsOnIt) {
  Fixture f;
  const NodeId m = f.state("m", f.type(f32, {"N"}));
  const NodeId m2 = f.add(Update{}, {m, f.apply(PointwiseFn::neg, {m})}, "m2");
  const NodeId late = f.apply(PointwiseFn::add, {m2, m}, "late");
  expect_refused([&] { f.finish({late}); },
                 {"late reads the old value of m but depends on its update m2", "read m2"});
}

TEST(UpdateRefusal, OfAReaderOfTheOldValueLaterInItsExpression) {
  Fixture f;
  const NodeId m = f.state("m", f.type(f32, {"N"}));
  const NodeId updated = f.add(Update{}, {m, f.apply(PointwiseFn::neg, {m})});
  const NodeId out = f.apply(PointwiseFn::add, {updated, f.apply(PointwiseFn::exp, {m})}, "out");
  expect_refused([&] { f.finish({out}); }, {"'update' in out overwrites m",
                                            "'exp' in out reads later", "give what reads it"});
}

TEST(ExpandRefusal, OfBlocksWithinOtherSlices) {
  Fixture f({"dp", "tp"});
  const NodeId x = f.input("x", f.type(f32, {"B", "H"}, {{1, sliced(1)}, {0, sliced_flat()}}));
  expect_refused([&] { f.add(BlockReduce{}, {x}); }, {"on axis tp", "all_gather that axis first"});
  const NodeId p = f.input("p", f.type(f32, {"B", "H"}, {{0, partial()}, {1, sliced_flat()}}));
  expect_refused([&] { f.add(Norm{}, {p}); }, {"norm(all_reduce(x, +))"});
  expect_refused([&] { f.add(Reduce{ReduceFn::mean, {0}}, {x}); }, {"do not follow the dims"});
  const NodeId q = f.input("q", f.type(f16, {"N"}, {{0, partial()}, {1, sliced_flat()}}));
  expect_refused(
      [&] {
        f.add(Reduce{ReduceFn::sum, {}}, {q});
      },
      {"still partial cannot be rounded to f16", "sum(all_reduce(x, +))", "cast(x, f32)"});
}

}  // namespace
}  // namespace coconet
