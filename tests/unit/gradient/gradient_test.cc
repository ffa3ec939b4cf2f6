#include "coconet/gradient/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/io/tensor_data.h"
#include "coconet/schedule/file.h"
#include "tests/support/files.h"
#include "tests/support/meaning.h"

namespace coconet {
namespace {

using Globals = std::map<std::string, interp::Bytes>;

std::vector<double> numbers_of(const interp::Bytes& bytes) {
  std::vector<double> out(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

const TensorType& type_of(const Graph& graph, const std::string& output) {
  for (const Output& each : graph.outputs()) {
    if (each.name == output) return graph.node(each.node).type;
  }
  throw InternalError("there is an output " + output);
}

std::vector<double> global_of(const Graph& graph, const interp::Result& result,
                              const std::string& output, const interp::Setting& setting) {
  const interp::GlobalValue value =
      interp::global_value(type_of(graph, output), setting, result.outputs.at(output));
  return numbers_of(value.bytes);
}

// The sum over the outputs of <d_y, y>.
double loss_of(const Graph& graph, const Globals& globals, const interp::Setting& setting) {
  Globals own;
  for (const auto& [name, bytes] : globals) {
    if (graph.find(name).valid()) own[name] = bytes;
  }
  const interp::Result result = run_on(graph, own, setting);
  double out = 0;
  for (const Output& output : graph.outputs()) {
    const std::vector<double> y = global_of(graph, result, output.name, setting);
    const auto weights = globals.find("d_" + output.name);
    if (weights == globals.end()) continue;
    const std::vector<double> d = numbers_of(weights->second);
    EXPECT_EQ(y.size(), d.size()) << output.name;
    for (std::size_t i = 0; i < y.size() && i < d.size(); ++i) out += y[i] * d[i];
  }
  return out;
}

// Compares each element with the quotient of differences. An f64 program.
void expect_gradient(const std::string& text, const Sizes& sizes, const std::vector<int>& mesh) {
  const Graph program = parse_file(text).programs.at(0);
  const Graph derived = gradient(program);
  SCOPED_TRACE(print(derived, true));
  EXPECT_EQ(parse_file(print(derived)).programs.at(0), derived);
  const interp::Setting setting{sizes, {mesh}, 7, 3};
  Globals globals = draw_inputs(derived, setting, 5);
  const interp::Result result = run_on(derived, globals, setting);
  for (const Output& output : derived.outputs()) {
    const std::string input = output.name.substr(2);
    const std::vector<double> found = global_of(derived, result, output.name, setting);
    const interp::Bytes kept = globals.at(input);
    const std::vector<double> at = numbers_of(kept);
    for (std::size_t i = 0; i < at.size(); i += 1 + at.size() / 23) {
      const auto loss_at = [&](double x) {
        std::memcpy(globals.at(input).data() + i * sizeof(double), &x, sizeof x);
        return loss_of(program, globals, setting);
      };
      constexpr double kStep = 1e-5;
      const double want = (loss_at(at[i] + kStep) - loss_at(at[i] - kStep)) / (2 * kStep);
      globals.at(input) = kept;
      const double got = found.at(i % found.size());
      EXPECT_NEAR(got, want, 2e-7 * (1 + std::abs(want))) << output.name << " element " << i;
    }
  }
}

std::string program_of(const std::string& mesh, const std::string& inputs, const std::string& body,
                       const std::string& dims = "N, K, H") {
  return "mesh world(" + mesh + ")\ndim " + dims + "\nprogram f(" + inputs + ") {\n" + body + "\n}";
}

const Sizes kSizes = {{"N", 6}, {"K", 4}, {"H", 8}};

// A function of x, of positive x where it needs that.
class PointwiseGradient : public testing::TestWithParam<const char*> {};

TEST_P(PointwiseGradient, IsTheQuotientOfDifferences) {
  const std::string body =
      "  p = x * x + 0.3\n  q = y + 2.1\n  out = " + std::string(GetParam()) + "\n  return out";
  expect_gradient(program_of("dp", "x: f64[N,K], y: f64[K]", body, "N, K"), {{"N", 6}, {"K", 4}},
                  {2});
}

INSTANTIATE_TEST_SUITE_P(Gradient, PointwiseGradient,
                         testing::Values("x + y", "x - y", "x * y", "x / q", "1 / q - x", "-x",
                                         "abs(x)", "sqrt(p)", "rsqrt(p)", "exp(x)", "log(p)",
                                         "tanh(x)", "erf(x)", "relu(x)", "gelu(x)", "silu(x)",
                                         "sigmoid(x)", "pow(p, 1.7)", "pow(x, 3)", "pow(p, y)",
                                         "min(x, y)", "max(x, y)", "where(x > y, x * y, x + y)",
                                         "x * x * x", "p * q + q * x", "tanh(x * y) * exp(y - x)",
                                         "cast(x, f64) + y"));

class OperationGradient : public testing::TestWithParam<const char*> {};

// x: [N, K, H], w: [H, K], gamma: [H].
TEST_P(OperationGradient, IsTheQuotientOfDifferences) {
  const std::string body = "  out = " + std::string(GetParam()) + "\n  return out";
  const std::string inputs = "x: f64[N,K,H], w: f64[H,K], wb: f64[N,H,K], gamma: f64[H]";
  expect_gradient(program_of("dp", inputs, body), kSizes, {2});
}

INSTANTIATE_TEST_SUITE_P(Gradient, OperationGradient,
                         testing::Values("matmul(x, w)", "matmul(x, wb)", "matmul(x, x, tb=true)",
                                         "matmul(wb, x, ta=true, tb=true)", "matmul(x, x, ta=true)",
                                         "matmul(w, w, ta=true)", "matmul(w, w, tb=true)", "sum(x)",
                                         "sum(x, [0,2])", "mean(x)", "mean(x, [1])", "max(x, [2])",
                                         "min(x, [0])", "max(x)", "norm(x) * gamma",
                                         "layer_norm(x, gamma, gamma * 2, 0.01)",
                                         "rms_norm(x, gamma, 0.01)", "softmax(x)",
                                         "softmax(x, [0,1])", "transpose(x, [2,0,1])",
                                         "reshape(x, [N*K,H])", "narrow(x, 2, 0, H)",
                                         "dropout(x, 0.4)", "concat(x, x * 2, 1)",
                                         "x + mean(x * gamma, [2])", "where(x > 0, x, gamma * x)"));

struct Spread {
  const char* inputs;
  const char* body;
};

class PlacedGradient : public testing::TestWithParam<Spread> {};

TEST_P(PlacedGradient, IsTheQuotientOfDifferences) {
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    expect_gradient(program_of("dp", GetParam().inputs, GetParam().body), kSizes, {ranks});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gradient, PlacedGradient,
    testing::Values(
        Spread{"x: f64[N,K] local, h: f64[H]",
               "  y = all_reduce(x * 2, +)\n  z = y * y\n"
               "  return z, y"},
        Spread{"x: f64[N,K] partial(+), h: f64[H]",
               "  y = all_reduce(x, +)\n  z = y * y\n  return z"},
        Spread{"x: f64[N,K] partial(+), h: f64[H]", "  y = x * 3\n  return y"},
        Spread{"x: f64[N,K] sliced(0), h: f64[H]",
               "  y = all_gather(x * x)\n  z = y * y\n  return z"},
        Spread{"x: f64[N,K], b: f64[K] sliced(0), h: f64[H]",
               "  s = shard(x, (1))\n  y = s * s + b\n  return y"},
        Spread{"x: f64[N,K] partial(+), h: f64[H]",
               "  y = reduce_scatter(x, +, (0))\n  z = y * y\n  return z"},
        Spread{"x: f64[N,K] sliced(*), c: f64[K], h: f64[H]",
               "  y = x * x\n  z = sum(y)\n  return z"},
        Spread{"x: f64[N,K] sliced(*), h: f64[H]", "  z = norm(x)\n  y = x * z\n  return y"},
        Spread{"x: f64[N,K] sliced(*), h: f64[H]", "  z = mean(x * x)\n  y = x * z\n  return y"},
        Spread{"x: f64[N,K], y: f64[N,K] sliced(0), h: f64[H]", "  z = x * y\n  return z"},
        Spread{"x: f64[N,K], y: f64[N,K] local, h: f64[H]", "  z = x * y\n  return z"},
        Spread{"b: f64[K], y: f64[N,K] sliced(0), h: f64[H]", "  z = tanh(y * b)\n  return z"},
        Spread{"x: f64[N,H] sliced(1), w: f64[H,K] sliced(0), b: f64[K]",
               "  y = all_reduce(matmul(x, w), +)\n  z = tanh(y + b)\n  return z"},
        Spread{"x: f64[N,H], w: f64[H,K] sliced(1), v: f64[K,H] sliced(0), b: f64[K] sliced(0)",
               "  a = gelu(matmul(x, w) + b)\n  y = all_reduce(matmul(a, v), +)\n  z = y + x\n"
               "  return z"},
        Spread{"x: f64[N,H,K] sliced(0), w: f64[K,H], h: f64[H]",
               "  y = tanh(matmul(x, w))\n  return y"},
        Spread{"x: f64[N,H] sliced(0), g: f64[H], w: f64[H,K]",
               "  y = matmul(rms_norm(x, g, 0.01), w)\n  z = all_gather(y)\n  return z"},
        Spread{"x: f64[N,H] sliced(1), g: f64[H], h: f64[K]",
               "  y = layer_norm(x, shard(g, (0)), shard(g, (0)), 0.01)\n  return y"},
        Spread{"x: f64[N,H] sliced(1), h: f64[K]", "  y = softmax(x)\n  return y"},
        Spread{"x: f64[N,K] local, h: f64[H]", "  y = shift(x * x, dp, 1)\n  return y"},
        Spread{"x: f64[N,K] local, h: f64[H]", "  y = shift(x * x, dp, -1, wrap)\n  return y"},
        Spread{"x: f64[N,K] sliced(0), h: f64[H]",
               "  y = all_to_all(x * x, (0), (1))\n  z = y * 2\n  return z"},
        Spread{"x: f64[N,K], h: f64[H]",
               "  y = broadcast(root(x, 0) * 2)\n  z = y * y\n  return z"},
        Spread{"x: f64[N,K] partial(+), h: f64[H]",
               "  y = reduce(x, +, 0)\n  z = broadcast(y * y)\n  return z"},
        Spread{"x: f64[N,K], h: f64[H]",
               "  y = as_partial(x * x, +)\n  z = all_reduce(y, +)\n  return z"},
        Spread{"x: f64[N,K] sliced(0), h: f64[H]",
               "  d = dropout(x, 0.5)\n  e = dropout(d * x, 0.2)\n  return e"}));

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

// In f32 and bf16: what they give is near what f64 gives. The dtype is a parameter, which is no
// f32 though it is bound to it.
TEST_P(PlacedGradient, InFewBitsIsNearThatOfMany) {
  const std::string many = program_of("dp", GetParam().inputs, GetParam().body);
  const interp::Setting setting{kSizes, {{2}}, 7, 3};
  const Graph exact = gradient(parse_file(many).programs.at(0));
  const Globals globals = draw_inputs(exact, setting, 5);
  const interp::Result wanted = run_on(exact, globals, setting);
  for (const DTypeKind kind : {DTypeKind::f32, DTypeKind::bf16}) {
    const std::string few =
        "dtype T = " + std::string(name_of(kind)) + "\n" + with(many, "f64[", "T[");
    const Graph derived = gradient(parse_file(few).programs.at(0));
    SCOPED_TRACE(print(derived, true));
    EXPECT_EQ(parse_file(print(derived)).programs.at(0), derived);
    Globals narrow;
    for (const auto& [name, bytes] : globals) {
      TensorData data = TensorData::zeros(kind, {std::int64_t(bytes.size() / sizeof(double))});
      const std::vector<double> values = numbers_of(bytes);
      for (std::size_t i = 0; i < values.size(); ++i) {
        data.set_value(static_cast<std::int64_t>(i), values[i]);
      }
      narrow[name] = std::move(data.bytes);
    }
    const interp::Result result = run_on(derived, narrow, setting);
    for (const Output& output : derived.outputs()) {
      EXPECT_EQ(type_of(derived, output.name).dtype.text(), "T");
      const std::vector<double> want = global_of(exact, wanted, output.name, setting);
      const interp::GlobalValue got = interp::global_value(type_of(derived, output.name), setting,
                                                           result.outputs.at(output.name));
      const TensorData data{got.kind, {std::int64_t(want.size())}, got.bytes};
      double scale = 1;
      for (const double value : want) scale = std::max(scale, std::abs(value));
      const double bound = scale * (kind == DTypeKind::f32 ? 2e-5 : 0.1);
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(data.value(static_cast<std::int64_t>(i)), want[i], bound) << output.name;
      }
    }
  }
}

TEST(Gradient, OfProgramsAsDeepAsTheyAreLong) {
  std::string body = "  y0 = x * x\n";
  constexpr int kDeep = 20000;
  for (int i = 1; i < kDeep; ++i) {
    body += "  y" + std::to_string(i) + " = y" + std::to_string(i - 1) + " * x\n";
  }
  body += "  z = y" + std::to_string(kDeep - 1) + " * 1\n  return z";
  const Graph derived =
      gradient(parse_file(program_of("dp", "x: f64[N]", body, "N")).programs.at(0));
  EXPECT_EQ(derived.outputs().size(), 1u);
}

TEST(Gradient, OfAllGatherIsReduceScatterOfWhatIsPartial) {
  const Graph derived =
      gradient(parse_file(program_of("tp", "x: f64[N,H] sliced(0), w: f64[H,K] sliced(1)",
                                     "  whole = all_gather(x)\n  y = matmul(whole, w)\n  return y"))
                   .programs.at(0));
  const std::string text = print(derived);
  EXPECT_NE(text.find("reduce_scatter"), std::string::npos) << text;
  EXPECT_EQ(text.find("all_reduce"), std::string::npos) << text;
}

TEST(Gradient, OfSeveralAxes) {
  expect_gradient(program_of("dp, tp",
                             "x: f64[N,H] sliced(0)@dp sliced(1)@tp, w: f64[H,K] "
                             "sliced(0)@tp, b: f64[K]",
                             "  y = all_reduce(matmul(x, w), +)@tp\n  z = tanh(y + b)\n"
                             "  return z"),
                  kSizes, {2, 2});
}

TEST(Gradient, OfChosenInputsAlone) {
  const Graph program =
      parse_file(program_of("dp", "x: f64[N], y: f64[N], k: f64[K,H]", "  z = x * y\n  return z"))
          .programs.at(0);
  const Graph derived = gradient(program, {.inputs = {"y"}});
  ASSERT_EQ(derived.outputs().size(), 1u);
  EXPECT_EQ(derived.outputs()[0].name, "d_y");
  EXPECT_EQ(gradient(program).outputs().size(), 2u);  // z does not depend on k
}

TEST(Gradient, RefusesLists) {
  const Graph program =
      parse_file("mesh world(dp)\ndim N_i\nprogram f(x: f32[N_i] list) { y = x * 2; return y }")
          .programs[0];
  const std::string text = test::user_error_of([&] { gradient(program); });
  EXPECT_NE(text.find("lists have none"), std::string::npos) << text;
}

TEST(Gradient, SaysByWhichInputsThereIsOne) {
  const Graph program = parse_file(program_of("dp", "x: f64[N], y: f64[N], i: i32[N], k: f64[K,H]",
                                              "  z = x * 2\n  return z"))
                            .programs.at(0);
  EXPECT_EQ(differentiable_inputs(program), std::vector<std::string>{"x"});
}

TEST(Gradient, RefusesWhatHasNoRule) {
  const auto refusal = [](const std::string& inputs, const std::string& body,
                          const GradientOptions& options = {}) {
    const Graph program = parse_file(program_of("dp", inputs, body, "N")).programs.at(0);
    return test::user_error_of([&] { gradient(program, options); });
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string text = refusal("x: f64[N], state m: f64[N]", "  y = update(m, x)\n  return y");
  EXPECT_TRUE(has(text, "writes a state or input")) << text;
  text = refusal("x: f64[N] local", "  y = all_reduce(x, max)\n  return y");
  EXPECT_TRUE(has(text, "a fold by max across ranks has no rule; legal is +")) << text;
  text = refusal("x: f64[N]", "  y = prod(x)\n  return y");
  EXPECT_TRUE(has(text, "prod has no rule")) << text;
  text = refusal("x: f64[N]", "  y = x * 2\n  return y", {.inputs = {"z"}});
  EXPECT_TRUE(has(text, "there is no gradient by z")) << text;
  text = refusal("x: f64[N], d_y: f64[N]", "  y = x * d_y\n  return y");
  EXPECT_TRUE(has(text, "found a value named d_y in f; that is the name of the gradient by y"))
      << text;
  text = refusal("x: f64[N]", "  d_x = x * 2\n  y = d_x * x\n  return y");
  EXPECT_TRUE(has(text, "found a value named d_x")) << text;
  text = refusal("x: i32[N], w: f64[N]", "  y = x * 2\n  return y");
  EXPECT_TRUE(has(text, "depend on none")) << text;
}

}  // namespace
}  // namespace coconet
