// The text of expressions: as printed, and back.
#include <gtest/gtest.h>

#include <random>

#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"

namespace coconet {
namespace {

const std::string kHead =
    "mesh world(dp, tp)\ndim N, M\ndtype T = f16\n"
    "program p(x: f32[N], y: f32[N], i: i32[N], c: bool[N], h: T[N], w: f32[N,M], v: f32[M,N], "
    "q: f32[M] partial(+)@tp, s: f32[N] sliced(0)@[dp,tp], l: f32[N] local@dp, "
    "scalar a: f32, scalar k: i32, state m: f32[N]) {\n  z = ";

// The expression as it prints again; the printed program is checked to parse to the same graph.
std::string printed(const std::string& expression) {
  const Graph graph = parse_program(kHead + expression + "\n  return z\n}\n");
  const std::string text = print(graph);
  const Graph again = parse_program(text);
  EXPECT_TRUE(again == graph) << text << print(again);
  EXPECT_TRUE(parse_program(print(graph, true)) == graph);
  return expression_text(graph, graph.outputs()[0].node);
}

void expect_same(const std::string& expression) { EXPECT_EQ(printed(expression), expression); }

TEST(ExpressionText, Precedence) {
  for (const char* text : {"x + y * a",
                           "(x + y) * a",
                           "x - (y - x)",
                           "x - y - x",
                           "x / (y * x)",
                           "x / y * x",
                           "-x",
                           "--x",
                           "-x * y",
                           "-(x * y)",
                           "x * -y",
                           "x < y",
                           "x + y < x * y",
                           "not c",
                           "not not c",
                           "not x < y",
                           "not (c and x < y)",
                           "c and x > 0.0 or not c",
                           "c and (c or x >= 0.0)",
                           "(c or c) and c",
                           "(x < y) == c",
                           "c == (x < y)",
                           "x != y",
                           "where(c and x <= y, x, -y)",
                           "(not c) == c",
                           "x - -1.0 * y",
                           "1.0 - x",
                           "-1.0 * x"}) {
    expect_same(text);
  }
}

TEST(ExpressionText, RedundantParenthesesGo) {
  EXPECT_EQ(printed("((x) + ((y * a)))"), "x + y * a");
  EXPECT_EQ(printed("(x + y) + x"), "x + y + x");
  EXPECT_EQ(printed("- (x)"), "-x");
  EXPECT_EQ(printed("max((x), (y))"), "max(x, y)");
}

TEST(ExpressionText, EveryFunction) {
  for (const char* text : {"abs(x)",
                           "sqrt(x)",
                           "rsqrt(x)",
                           "exp(x)",
                           "log(x)",
                           "tanh(x)",
                           "erf(x)",
                           "relu(x)",
                           "gelu(x)",
                           "silu(x)",
                           "sigmoid(x)",
                           "pow(x, y)",
                           "pow(x, i)",
                           "pow(x, 2.0)",
                           "min(x, y)",
                           "max(x, 0.0)",
                           "where(c, x, y)",
                           "where(c, 1.0, y)",
                           "cast(x, T)",
                           "cast(h, f32)",
                           "dropout(x, a, site=3)",
                           "dropout(x, 0.1, site=0)",
                           "matmul(w, v)",
                           "matmul(w, v, out=bf16)",
                           "sum(x)",
                           "sum(w, [0])",
                           "sum(w, [0,1])",
                           "max(w, [1])",
                           "min(w)",
                           "prod(x)",
                           "mean(w, [1])",
                           "norm(x)",
                           "norm(h, out=f32)",

                           "update(m, x * 2.0)",
                           "all_reduce(q, +)@tp",
                           "all_reduce(l, max)@dp",
                           "reduce_scatter(q, +, (0))@tp",
                           "reduce_scatter(q, +, (*))@tp",
                           "all_gather(s)@[dp,tp]",
                           "all_gather(s)@tp",
                           "reduce(q, +, 1)@tp",
                           "broadcast(root(x, 1)@tp)@tp",
                           "broadcast(l, 0)@dp",
                           "shard(x, (0))@dp",
                           "shard(w, (0..1))@[dp,tp]",
                           "root(x, 0)@tp",
                           "as_partial(x, +)@tp",
                           "fold(block_sums(x), +)",
                           "fold(block_squares(x), +)",
                           "fold(block_max(x), max)",
                           "block_min(x)",
                           "block_prod(x)",
                           "x / size(dp)",
                           "x * size(N)",
                           "x * size(2*N)"}) {
    expect_same(text);
  }
}

TEST(ExpressionText, ProductsRowsAndMovement) {
  for (const char* text :
       {"matmul(w, w, tb=true)", "softmax(w)", "softmax(w, [1])", "transpose(w, [1,0])",
        "reshape(w, [M*N])", "reshape(w, [N,1,M])", "narrow(w, 1, 0, M)", "narrow(w, 0, 2, 3*M)",
        "concat(w, w + 1.0, 0)", "concat(x, y, x * y, 0)",
        "concat(w, reshape(w, [N,M]), 1, size=2*M)", "matmul(w, w, ta=true, out=bf16)"}) {
    expect_same(text);
  }
}

TEST(ExpressionText, LayerNorm) {
  const std::string text =
      "mesh w(tp)\ndim N, M\nprogram p(x: f32[N,M], g: f32[M], b: f32[M]) {\n"
      "  z = layer_norm(x, g, b, 1e-12)\n  return z\n}\n";
  const Graph graph = parse_program(text);
  EXPECT_EQ(expression_text(graph, graph.find("z")), "layer_norm(x, g, b, 1e-12)");
  EXPECT_TRUE(parse_program(print(graph)) == graph);
}

TEST(ExpressionText, AxesAreFound) {
  EXPECT_EQ(printed("all_reduce(q, +)"), "all_reduce(q, +)@tp");
  EXPECT_EQ(printed("all_reduce(l, +)"), "all_reduce(l, +)@dp");
  EXPECT_EQ(printed("all_gather(s)@[tp,dp]"), "all_gather(s)@[dp,tp]");
}

TEST(ExpressionText, ASliceMayBeANumber) {
  EXPECT_EQ(printed("reduce_scatter(q, +, 0)"), "reduce_scatter(q, +, (0))@tp");
  EXPECT_EQ(printed("shard(w, (1))@tp"), "shard(w, (1))@tp");
  EXPECT_EQ(printed("sum(w, [1,0])"), "sum(w, [0,1])");
}

TEST(ExpressionText, LiteralsTakeTheOtherDType) {
  EXPECT_EQ(printed("x + 1"), "x + 1.0");
  EXPECT_EQ(printed("i + 1"), "i + 1");
  EXPECT_EQ(printed("1 - h"), "1.0 - h");
  EXPECT_EQ(printed("pow(x, 2)"), "pow(x, 2.0)");
  EXPECT_EQ(printed("where(x > 0, 1, x)"), "where(x > 0.0, 1.0, x)");
  EXPECT_EQ(printed("c and true"), "c and true");
  EXPECT_EQ(printed("x * cast(1, f32)"), "x * 1.0");
  EXPECT_EQ(printed("cast(cast(1, f32), T) * h"), "cast(cast(1.0, f32), T) * h");
  EXPECT_EQ(printed("cast(1, f32)"), "cast(1.0, f32)");
  EXPECT_EQ(printed("cast(size(dp), i32)"), "cast(size(dp), i32)");
  EXPECT_EQ(printed("cast(size(dp), i32) < 4"), "cast(size(dp), i32) < 4");
  EXPECT_EQ(printed("cast(1, f32) + cast(2, f32)"), "cast(1.0, f32) + 2.0");
  EXPECT_EQ(printed("-cast(1, f32)"), "-cast(1.0, f32)");
  EXPECT_EQ(printed("exp(cast(1, f32)) * x"), "exp(1.0) * x");
}

TEST(ExpressionText, LiteralsFold) {
  EXPECT_EQ(printed("x * (1 + 2 * 3)"), "x * 7.0");
  EXPECT_EQ(printed("x * (1 - 0.1)"), "x * 0.9");
  EXPECT_EQ(printed("i * (7 / 7 - -3)"), "i * 4");
  EXPECT_EQ(printed("x * (6 / 3)"), "x * 2.0");
  EXPECT_EQ(printed("c and not (1 < 2.5)"), "c and false");
  EXPECT_EQ(printed("x / (size(dp) * 2)"), "x / (size(dp) * 2.0)");
  EXPECT_EQ(printed("x * exp(1)"), "x * exp(1.0)");
  EXPECT_EQ(printed("x * -0.0"), "x * -0.0");
}

TEST(ExpressionText, FloatsAreExact) {
  EXPECT_EQ(printed("x * 1e-8"), "x * 1e-08");
  EXPECT_EQ(printed("x * 0.1"), "x * 0.1");
  EXPECT_EQ(printed("x * 1e22"), "x * 1e+22");
  EXPECT_EQ(printed("x * 123456789.125"), "x * 123456789.125");
  EXPECT_EQ(printed("x * 3.0000000000000004"), "x * 3.0000000000000004");
  EXPECT_EQ(printed("x * 2.5E+3"), "x * 2500.0");
}

// Random expressions of f32 and bool values print to a text that parses to an equal graph.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string number(int depth) {
    static const char* const kLeaves[] = {"x",   "y",    "a",        "2",
                                          "0.5", "-1.5", "size(dp)", "cast(3, f32)"};
    if (depth == 0) return kLeaves[pick(8)];
    const std::string l = number(depth - 1);
    switch (pick(9)) {
      case 0: return "(" + l + " + " + tensor(depth - 1) + ")";
      case 1: return "(" + tensor(depth - 1) + " - " + l + ")";
      case 2: return tensor(depth - 1) + " * " + "(" + l + ")";
      case 3: return "(" + l + ") / (" + tensor(depth - 1) + ")";
      case 4: return "-(" + l + ")";
      case 5: return "exp(" + tensor(depth - 1) + ")";
      case 6: return "max(" + l + ", " + tensor(depth - 1) + ")";
      case 7: return "where(" + truth(depth - 1) + ", " + l + ", " + tensor(depth - 1) + ")";
      default: return "dropout(" + tensor(depth - 1) + ", 0.5)";
    }
  }
  std::string tensor(int depth) { return "(x + " + number(depth) + ")"; }
  std::string truth(int depth) {
    if (depth == 0) return pick(2) == 0 ? "c" : "x < y";
    switch (pick(5)) {
      case 0: return "(" + truth(depth - 1) + ") and (" + truth(depth - 1) + ")";
      case 1: return "(" + truth(depth - 1) + ") or (" + truth(depth - 1) + ")";
      case 2: return "not (" + truth(depth - 1) + ")";
      case 3: return number(depth - 1) + " >= " + tensor(depth - 1);
      default: return "(" + truth(depth - 1) + ") != (" + truth(depth - 1) + ")";
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::mt19937 random_;
};

TEST(ExpressionText, RandomExpressionsParseBack) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Generator generator(seed);
    const std::string expression = generator.tensor(1 + static_cast<int>(seed % 5));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + expression);
    printed(expression);
    if (HasFailure()) return;
  }
}

TEST(ExpressionText, DeepExpressionsOfFunctionsGetNames) {
  std::string text = "mesh w(tp)\ndim N\ndef f0(x) = x + 1\n";
  for (int i = 1; i < 20; ++i) {
    const std::string f = "f" + std::to_string(i - 1);
    text += "def f" + std::to_string(i) + "(x) = " + f + "(" + f + "(x))\n";
    if (i == 9) break;
  }
  const Graph graph = parse_program(text + "program p(x: f32[N]) {\n  y = f9(x)\n  return y\n}\n");
  EXPECT_EQ(graph.size(), 1 + 2 * 512);
  EXPECT_TRUE(parse_program(print(graph)) == graph);
}

}  // namespace
}  // namespace coconet
