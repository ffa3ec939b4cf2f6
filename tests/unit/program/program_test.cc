#include "coconet/program/program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"
#include "coconet/schedule/scheduling.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

using fixture::expect_refused;

void expect_same(const Program& program, const std::string& text) {
  const Graph graph = program.graph();
  EXPECT_TRUE(graph == parse_program(text)) << print(graph);
  EXPECT_TRUE(parse_program(print(graph)) == graph) << print(graph);
}

// Line of a UserError in this file; 0 if there is none.
int line_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& error) {
    EXPECT_NE(error.where().file.find("program_test.cc"), std::string::npos) << error.what();
    return error.where().line;
  }
  return 0;
}

TEST(Program, OperatorsAndLiterals) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim N = p.dim("N");
  const Tensor x = p.input("x", f32, {N});
  const Tensor i = p.input("i", i32, {N});
  const Tensor y = p.let("y", 1 - x * 2 + 0.5 / x - -x);
  const Tensor z = p.let("z", where((x > 0 && !(y <= x)) || x == y, max(x, 0), -1));
  const Tensor k = p.let("k", i * 3 - 1);
  const Tensor n = p.let("n", x / p.size("tp") + x * p.size(N));
  p.returns({y, z, k, n});
  expect_same(p, R"(mesh world(tp)  dim N
      program p(x: f32[N], i: i32[N]) {
        y = 1 - x * 2 + 0.5 / x - -x
        z = where(x > 0 and not y <= x or x == y, max(x, 0), -1)
        k = i * 3 - 1
        n = x / size(tp) + x * size(N)
        return y, z, k, n })");
}

TEST(Program, MovementOfDataAndRequire) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim B = p.dim("B"), H = p.dim("H"), nh = p.dim("nh"), hd = p.dim("hd");
  p.require("H == nh * hd");
  p.require("nh % size(tp) == 0");
  const Tensor x = p.input("x", f32, {B, H}, sliced(1));
  const Tensor g = p.input("g", f32, {hd});
  const Tensor y = p.let("y", transpose(reshape(x, {B, nh, hd}), {1, 0, 2}));
  const Tensor z = p.let("z", concat({narrow(y, 2, 0, 2), y, y * 2}, 2, 2 * H));
  const Tensor k = p.let("k", softmax(rms_norm(y, g, 1e-3)) + softmax(y, over(2)));
  const Tensor m = p.let("m", matmul(y, y, Transposed{.a = true}));
  p.returns({z, k, m});
  expect_same(p, R"(mesh world(tp)  dim B, H, nh, hd
      require H == nh * hd
      require nh % size(tp) == 0
      program p(x: f32[B,H] sliced(1), g: f32[hd]) {
        y = transpose(reshape(x, [B,nh,hd]), [1,0,2])
        z = concat(narrow(y, 2, 0, 2), y, y * 2, 2, size=2*H)
        k = softmax(rms_norm(y, g, 1e-3)) + softmax(y, [2])
        m = matmul(y, y, ta=true)
        return z, k, m })");
  Program q("q", Mesh{"world", {"tp"}});
  expect_refused([&] { q.require("N == 1"); }, {"`N` is not a dim"});
  expect_refused([&] { q.require("1 == 1 2"); }, {"found `2` behind the condition; needed is one"});
  expect_refused([&] { q.require("Q % 2 = 0"); }, {"found `=` in a condition", "`a == b`"});
  EXPECT_EQ(line_of([&] { q.require("1 +"); }), __LINE__);
}

TEST(Program, EveryFunction) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim N = p.dim("N"), M = p.dim("M"), N_i = p.dim("N_i");
  const DType T = p.dtype("T", bf16);
  const Tensor x = p.input("x", f32, {N, M});
  const Tensor w = p.input("w", f32, {M, N}, sliced(0));
  const Tensor q = p.input("q", f32, {N}, partial(Fold::sum));
  const Tensor l = p.input("l", f32, {N}, local());
  const Tensor g = p.input("g", f32, {M});
  const Tensor m = p.state("m", f32, {N}, sliced_all());
  p.let("a", abs(sqrt(rsqrt(exp(log(tanh(erf(relu(gelu(silu(sigmoid(x))))))))))));
  p.let("b", pow(min(x, 1), max(x, x)));
  p.let("c", cast(dropout(x, 0.1, 7), T));
  p.let("d", matmul(x, w, bf16));
  p.let("e", sum(x, over(1)) + max(x, over(0, 1)) + min(x, over(0)) + prod(x, over(1, 0)));
  p.let("f", sum(x) + max(x) + mean(x, over(1)) + norm(x));
  p.let("h", layer_norm(x, g, g, 1e-5));
  p.let("m2", update(m, reduce_scatter(q, Fold::sum, Slice::all())));
  p.let("r", all_gather(reduce_scatter(l, Fold::max, Slice::dim(0))) + all_reduce(q, Fold::sum));
  p.let("s", broadcast(reduce(q, Fold::sum, 0)) + broadcast(l, 1));
  p.let("t", shard(x, Slice::range(0, 1)));
  p.let("u", as_partial(g, Fold::sum));
  p.let("v", root(g, 2, on("tp")));
  const Tensor y = p.input("y", f32, list({N_i, M}));
  p.let("o", across(y, Fold::max, {N, M}) / across(norm(y), Fold::sum));
  expect_same(p, R"(mesh world(tp)  dim N, M, N_i  dtype T = bf16
      program p(x: f32[N,M], w: f32[M,N] sliced(0), q: f32[N] partial(+), l: f32[N] local,
                g: f32[M], state m: f32[N] sliced(*), y: f32[N_i,M] list) {
        a = abs(sqrt(rsqrt(exp(log(tanh(erf(relu(gelu(silu(sigmoid(x)))))))))))
        b = pow(min(x, 1), max(x, x))
        c = cast(dropout(x, 0.1, site=7), T)
        d = matmul(x, w, out=bf16)
        e = sum(x, [1]) + max(x, [0,1]) + min(x, [0]) + prod(x, [0,1])
        f = sum(x) + max(x) + mean(x, [1]) + norm(x)
        h = layer_norm(x, g, g, 1e-5)
        m2 = update(m, reduce_scatter(q, +, (*)))
        r = all_gather(reduce_scatter(l, max, (0))) + all_reduce(q, +)
        s = broadcast(reduce(q, +, 0)) + broadcast(l, 1)
        t = shard(x, (0..1))
        u = as_partial(g, +)
        v = root(g, 2)
        o = across(y, max, size=[N,M]) / across(norm(y), +)
      })");
}

TEST(Program, SeveralAxes) {
  Program p("p", Mesh{"world", {"dp", "tp"}});
  const Dim N = p.dim("N"), M = p.dim("M");
  const Tensor g = p.input("g", f32, {N, M}, {local().on("dp"), sliced(1).on("tp")});
  const Tensor m = p.input("m", f32, {N, M}, {sliced(1).on("tp"), sliced_all().on("dp")});
  const Tensor e = p.input("e", f32, {N}, sliced(0).on("dp", "tp"));
  const Tensor f = p.input("f", f32, {N}, {partial(Fold::max).on("tp"), rooted(1).on("dp")});
  const Tensor rs = p.let("rs", reduce_scatter(g, Fold::sum, Slice::all(), on("dp")));
  const Tensor out = p.let("out", all_gather(e, on("tp", "dp")));
  p.returns({rs, out});
  expect_same(p, R"(mesh world(dp, tp)  dim N, M
      program p(g: f32[N,M] local@dp sliced(1)@tp, m: f32[N,M] sliced(1)@tp sliced(*)@dp,
                e: f32[N] sliced(0)@[dp,tp], f: f32[N] partial(max)@tp rooted(1)@dp) {
        rs = reduce_scatter(g, +, (*))@dp
        out = all_gather(e)@[dp,tp]
        return rs, out })");
}

TEST(Program, AliasesAndSharedExpressions) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim N = p.dim("N");
  const Tensor x = p.input("x", f32, {N});
  const Tensor twice = x + x;
  const Tensor y = p.let("y", twice * twice);
  const Tensor out = p.let("out", y);
  p.returns({out});
  const Graph graph = p.graph();
  EXPECT_EQ(graph.outputs()[0].name, "out");
  EXPECT_EQ(expression_text(graph, graph.find("y")), "t_add * t_add");
  EXPECT_TRUE(parse_program(print(graph)) == graph);
  EXPECT_TRUE(p.graph() == graph);
}

TEST(Program, ErrorsHaveThePlaceOfTheCall) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim N = p.dim("N");
  const Tensor x = p.input("x", f32, {N});
  const Tensor q = p.input("q", f32, {N}, partial(Fold::sum));
  const int here = __LINE__;
  EXPECT_EQ(line_of([&] { x + q; }), here + 1);
  EXPECT_EQ(line_of([&] { sqrt(q); }), here + 2);
  EXPECT_EQ(line_of([&] { all_reduce(x, Fold::sum); }), here + 3);
  EXPECT_EQ(line_of([&] { all_reduce(q, Fold::sum, on("pp")); }), here + 4);
  EXPECT_EQ(line_of([&] { p.let("x", x + 1); }), here + 5);
  EXPECT_EQ(line_of([&] { p.let("3x", x + 1); }), here + 6);
  EXPECT_EQ(line_of([&] { p.input("y", f32, {N}, sliced(1)); }), here + 7);
  EXPECT_EQ(line_of([&] { p.input("y", f32, {Dim::named("K")}); }), here + 8);
  EXPECT_EQ(line_of([&] { p.returns({x + 1}); }), here + 9);
  EXPECT_EQ(line_of([&] { p.size("pp"); }), here + 10);
  EXPECT_EQ(line_of([&] { p.dim("M"); }), here + 11);
  EXPECT_EQ(line_of([&] { norm(3); }), here + 12);
}

TEST(Program, Refusals) {
  Program p("p", Mesh{"world", {"dp", "tp"}});
  Program other("other", Mesh{"world", {"dp", "tp"}});
  const Dim N = p.dim("N"), K = p.dim("K");
  const Tensor z = other.input("z", f32, {});
  const Tensor x = p.input("x", f32, {N});
  expect_refused([&] { x + z; }, {"two programs"});
  expect_refused([&] { p.let("y", z + 1); }, {"belongs to another program"});
  expect_refused([&] { p.returns({z}); }, {"z is not a tensor of this program"});
  expect_refused([&] { p.input("y", f32, {N}, sliced(0)); }, {"does not say on which axis"});
  expect_refused([&] { p.input("y", f32, {N}, sliced(0).on("pp")); }, {"`pp` is not an axis"});
  expect_refused(
      [&] {
        p.input("y", f32, {N}, {local().on("dp"), sliced(0).on("dp")});
      },
      {"has two placements"});
  expect_refused([&] { p.let("return", x + 1); }, {"`return` is not a name"});
  expect_refused([&] { p.let("N", x + 1); }, {"the name N is taken"});
  expect_refused([&] { dropout(x, 0.1, 0) + dropout(x, 0.1); }, {"two dropouts have site"});
  expect_refused([&] { dropout(x, 0.1, 5) + dropout(x, 0.1, 5); }, {"two dropouts have site 5"});
  expect_refused([&] { p.graph(); }, {"the dim K is in no value's shape"});
  expect_refused([] { Program("p", Mesh{"world", {}}); }, {"at least one axis"});
  expect_refused([] { Program("p", Mesh{"world", {"tp"}}).graph(); }, {"p gives nothing"});
  expect_refused([&] { other.returns({}); }, {"one value or more"});
  p.input("k", f32, {K});
  p.returns({x});
  expect_refused([&] { p.returns({x}); }, {"returns once"});
}

TEST(Program, NumbersFitTheirDTypes) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim N = p.dim("N");
  const Tensor x = p.input("x", f32, {N});
  const Tensor h = p.input("h", f16, {N});
  const double infinite = std::numeric_limits<double>::infinity();
  expect_refused([&] { x* infinite; }, {"a literal is a finite number"});
  expect_refused([&] { x* std::nan(""); }, {"found NaN or infinity"});
  expect_refused([&] { Tensor(x > infinite); }, {"found NaN or infinity"});
  expect_refused([&] { Operand(infinite) && true; }, {"found NaN or infinity"});
  expect_refused([&] { h + 1e-8; }, {"rounds to 0"});
  expect_refused([&] { x + std::numeric_limits<std::uint64_t>::max(); }, {"fits in 63 bits"});
  expect_refused([&] { p.scalar("a", i32, 0.5); }, {"the default of a scalar of dtype i32"});
  expect_refused([&] { p.scalar("a", i32, 3e9); }, {"integers of 32 bits"});
  expect_refused([&] { p.scalar("a", f32, infinite); }, {"the default", "smaller values"});
  expect_refused([&] { p.scalar("a", boolean, 2); }, {"true or false (or 1 or 0)"});
  EXPECT_EQ(p.scalar("a", i32, 7).type().text(Mesh{"world", {"tp"}}), "i32[]");
  expect_refused([&] { p.size("tp").type(); }, {"a literal has no type"});
}

TEST(Program, AttributesAreChecked) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim N = p.dim("N");
  expect_refused([&] { p.dtype("f32", f16); }, {"that of a dtype"});
  const Tensor x = p.input("x", f32, {N});
  const Tensor g = p.input("g", f32, {N}, local());
  expect_refused([&] { reduce(g, Fold::sum, -1); }, {"the root is -1"});
  expect_refused([&] { broadcast(g, -1); }, {"the root is -1"});
  expect_refused([&] { root(x, -1); }, {"the root is -1"});
  expect_refused([&] { p.input("y", f32, {N}, rooted(-1)); }, {"from 0"});
  expect_refused([&] { sum(x, over(0, 0)); }, {"dim 0 stands twice"});
  expect_refused([&] { dropout(x, 0.1, -1); }, {"a number from 0 on"});
  expect_refused([] { Program("p", Mesh{"world", {"tp", "tp"}}); }, {"tp stands twice"});
  const std::vector<std::string> nine = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  expect_refused([&] { Program("p", Mesh{"world", nine}); }, {"9 axes; at most 8 are supported"});
}

TEST(Scheduling, IsTheTextsSchedule) {
  Program p("p", Mesh{"world", {"tp"}});
  const Dim N = p.dim("N");
  const Tensor g = p.input("g", f32, {N}, local());
  const Tensor w = p.input("w", f32, {N});
  const Tensor total = p.let("total", all_reduce(g, Fold::sum));
  const Tensor w2 = p.let("w2", update(w, w - total * 0.1));
  p.returns({w2});
  Scheduling s("fast", p.graph());
  const auto [rs, ag] = s.split(total, Slice::all()).as("rs", "ag");
  const auto [body, gather] = s.reorder(ag, {w2}).as("body", "gather");
  const int here = __LINE__;
  EXPECT_EQ(line_of([&] { s.split(total); }), here + 1);
  EXPECT_EQ(line_of([&] { s.dead(g * 2); }), here + 2);
  EXPECT_EQ(line_of([&] { s.fuse({rs, "bdy"}); }), here + 3);
  const auto written = s.fuse({rs, body, gather});
  EXPECT_THROW(written.as("one", "two"), UserError);
  EXPECT_THROW(written.as("not a name"), UserError);
  const auto [ar] = written.as("ar");
  EXPECT_EQ(text_of(s.schedule()),
            "schedule fast for p {\n  rs, ag = split(total, (*))\n  body, gather = reorder(ag, "
            "[w2])\n  ar = fuse(rs, body, gather)\n}\n");
  EXPECT_TRUE(s.graph() == apply(p.graph(), s.schedule()).graph);
  EXPECT_TRUE(s.graph().find_group(ar.text()).valid());
}

}  // namespace
}  // namespace coconet
