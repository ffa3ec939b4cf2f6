// Every operation with every dtype: refused with an error that names both, or the same bits by
// interpreter, plan executor and, all accepted ones together, generated code.
#include <gmock/gmock.h>

#include "coconet/schedule/file.h"
#include "tests/support/everywhere.h"

namespace coconet::property {
namespace {

enum class Takes { all, numbers, floats, bools };

// `expression` gives `out`; T is the dtype. `word`: what a refusal calls the operation.
struct Operation {
  const char* word;
  const char* expression;
  Takes takes;
};

constexpr Takes kAll = Takes::all, kNumbers = Takes::numbers, kFloats = Takes::floats;

const Operation kOperations[] = {
    {"+", "x + y", kNumbers},
    {"-", "x - y", kNumbers},
    {"*", "x * v", kNumbers},
    {"/", "x / y", kNumbers},
    {"-", "-x", kNumbers},
    {"abs", "abs(x)", kNumbers},
    {"sqrt", "sqrt(x)", kFloats},
    {"rsqrt", "rsqrt(x)", kFloats},
    {"exp", "exp(x)", kFloats},
    {"log", "log(x)", kFloats},
    {"tanh", "tanh(x)", kFloats},
    {"erf", "erf(x)", kFloats},
    {"relu", "relu(x)", kNumbers},
    {"gelu", "gelu(x)", kFloats},
    {"silu", "silu(x)", kFloats},
    {"sigmoid", "sigmoid(x)", kFloats},
    {"pow", "pow(x, y)", kFloats},
    {"pow", "pow(x, three)", kFloats},
    {"min", "min(x, y)", kNumbers},
    {"max", "max(x, y)", kNumbers},
    {"<", "x < y", kNumbers},
    {"<=", "x <= y", kNumbers},
    {">", "x > y", kNumbers},
    {">=", "x >= y", kNumbers},
    {"==", "x == y", kAll},
    {"!=", "x != y", kAll},
    {"and", "x and y", Takes::bools},
    {"or", "x or y", Takes::bools},
    {"not", "not x", Takes::bools},
    {"where", "where(c, x, y)", kAll},
    {"cast", "cast(x, f16)", kAll},
    {"cast", "cast(x, bf16)", kAll},
    {"cast", "cast(x, f32)", kAll},
    {"cast", "cast(x, f64)", kAll},
    {"cast", "cast(x, i32)", kAll},
    {"cast", "cast(x, i64)", kAll},
    {"cast", "cast(x, bool)", kAll},
    {"dropout", "dropout(x, 0.5)", kFloats},
    {"matmul", "matmul(a, b)", kFloats},
    {"matmul", "matmul(b, a, ta=true, tb=true)", kFloats},
    {"sum", "sum(x, [1])", kNumbers},
    {"sum", "sum(flat)", kNumbers},
    {"prod", "prod(x, [1])", kNumbers},
    {"max", "max(x, [1])", kNumbers},
    {"min", "all_reduce(min(x, [0,1]), min)", kNumbers},
    {"mean", "mean(x)", kFloats},
    {"mean", "mean(w, [0])", kFloats},
    {"norm", "norm(flat)", kFloats},
    {"norm", "norm(x, out=f32)", kFloats},
    {"softmax", "softmax(x)", kFloats},
    {"layer_norm", "layer_norm(x, v, v, eps)", kFloats},
    {"rms_norm", "rms_norm(x, v, eps)", kFloats},
    {"block_sums", "fold(all_gather(block_sums(flat)), +)", kNumbers},
    {"transpose", "transpose(x, [1,0])", kAll},
    {"reshape", "reshape(w, [N*M])", kAll},
    {"concat", "concat(x, y, 1)", kAll},
    {"narrow", "narrow(w, 1, 0, 1)", kAll},
    {"update", "update(s, x)", kAll},
    {"norm", "norm(list)", kFloats},
    {"sum", "across(sum(list), +)", kNumbers},
    {"across", "across(alike, +, size=[K])", kNumbers},
    {"mean", "mean(shard(list, (*)))", kFloats},
    {"all_reduce", "all_reduce(l, +)", kNumbers},
    {"all_reduce", "all_reduce(l, prod)", kNumbers},
    {"all_reduce", "all_reduce(l, max)", kNumbers},
    {"all_reduce", "all_reduce(l, min)", kNumbers},
    {"reduce_scatter", "reduce_scatter(l, +, (0..1))", kNumbers},
    {"reduce_scatter", "reduce_scatter(l, max, (*))", kNumbers},
    {"reduce", "reduce(l, +, 1)", kNumbers},
    {"all_gather", "all_gather(x)", kAll},
    {"broadcast", "broadcast(l, 2)", kAll},
    {"broadcast", "broadcast(root(w, 1))", kAll},
    {"all_to_all", "all_to_all(x, 0, 1)", kAll},
    {"shard", "shard(w, (*))", kAll},
    {"as_partial", "all_reduce(as_partial(w, +), +)", kNumbers},
    {"stack", "stack(l)", kAll},
    {"shift", "shift(w, dp, 1)", kAll},
    {"conv2d", "conv2d(image, kernel, padding=1, size=[N,N])", kFloats},
};

const char* const kDTypes[] = {"f16", "bf16", "f32", "f64", "i32", "i64", "bool"};

bool takes(const Operation& operation, const std::string& dtype) {
  const bool floating = dtype.find('f') != std::string::npos;
  switch (operation.takes) {
    case Takes::all: return true;
    case Takes::numbers: return dtype != "bool";
    case Takes::floats: return floating;
    case Takes::bools: return dtype == "bool";
  }
  return false;
}

// A program of these statements and outputs.
std::string program(const std::string& dtype, const std::string& statements,
                    const std::string& outputs) {
  const std::string t = " " + dtype;
  return "mesh world(dp)\ndim N, M, K, N_i, K_j\nprogram p(x:" + t + "[N,M] sliced(0), y:" + t +
         "[N,M] sliced(0), c: bool[N,M] sliced(0), w:" + t + "[N,M], l:" + t +
         "[N,M] local, v:" + t + "[M], a:" + t + "[N,M], b:" + t + "[M,K], image:" + t +
         "[K,1,N,N] sliced(0), kernel:" + t + "[K,1,K,K], flat:" + t +
         "[N,M] sliced(*), list:" + t + "[N_i] list, alike:" + t + "[K_j] list, state s:" + t +
         "[N,M] sliced(0), scalar three: i32 = 3, scalar eps: " + (dtype == "f64" ? "f64" : "f32") +
         " = 1e-3) {\n" + statements + "  return " + outputs + "\n}\n";
}

Sizes sizes() {
  Sizes out = {{"N", 5}, {"M", 210}, {"K", 3}};
  out.lists["N_i"] = {3, 0, 1030};
  out.lists["K_j"] = {3, 3};
  return out;
}

// Integers of products are small, so that any order gives the same bits.
GivenValues values() {
  GivenValues out;
  for (int i = 0; i < 5 * 210; ++i) out["a"].push_back(i % 7 == 0 ? 1 : 0);
  for (int i = 0; i < 210 * 3; ++i) out["b"].push_back(i % 5 == 0 ? 1 : 0);
  for (int i = 0; i < 3 * 5 * 5; ++i) out["image"].push_back(i % 3 == 0 ? 1 : 0);
  for (int i = 0; i < 3 * 3 * 3; ++i) out["kernel"].push_back(i % 2 == 0 ? 1 : 0);
  return out;
}

class EveryOperation : public testing::TestWithParam<const char*> {};

TEST_P(EveryOperation, RunsAlikeOrIsRefused) {
  const std::string dtype = GetParam();
  std::string statements, outputs;
  int number = 0;
  for (const Operation& operation : kOperations) {
    SCOPED_TRACE(dtype + ": " + operation.expression);
    const std::string name = "out" + std::to_string(number++);
    const std::string statement = "  " + name + " = " + operation.expression + "\n";
    const std::string text = program(dtype, statement, name);
    try {
      parse_file(text);
      EXPECT_TRUE(takes(operation, dtype)) << "accepted";
      statements += statement;
      outputs += (outputs.empty() ? "" : ", ") + name;
    } catch (const UserErrors& errors) {
      EXPECT_FALSE(takes(operation, dtype)) << errors.what();
      EXPECT_THAT(errors.what(), testing::HasSubstr(operation.word));
      EXPECT_THAT(errors.what(), testing::HasSubstr(dtype));
      continue;
    }
    run_everywhere(text, "", sizes(), {3}, values(), Also::executor);
  }
  run_everywhere(program(dtype, statements, outputs), "", sizes(), {3}, values());
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryOperation, testing::ValuesIn(kDTypes),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coconet::property
