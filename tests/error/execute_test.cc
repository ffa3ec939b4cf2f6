// What a C++ caller can give a run wrongly: every message names the input, what was found and what
// is needed.
#include <gtest/gtest.h>

#include "coconet/execute/inputs.h"
#include "coconet/execute/run.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"

namespace coconet::execute {
namespace {

using fixture::expect_refused;

const Graph kGraph = parse_program(R"(
mesh world(dp)
dim N, M, N_i
dtype T = f32
program p(g: T[N,M] local, q: f32[N,M], k: f32[N_i] list, scalar rate: f32 = 0.5, scalar t: i32) {
  total = all_reduce(g, +)
  a = dropout(cast(total, f32) + q, rate) * cast(t, f32)
  s = norm(k)
  return a, s
}
)");

TensorData zeros(DTypeKind kind, std::vector<std::int64_t> shape) {
  return TensorData::zeros(kind, std::move(shape));
}

struct ExecuteInputs : testing::Test {
  ExecuteInputs() {
    setting.sizes = {{"N", 2}, {"M", 3}};
    setting.sizes.lists = {{"N_i", {4, 5}}};
    setting.mesh = {{2}};
    given = {{"g", zeros(DTypeKind::f32, {2, 2, 3})},
             {"q", zeros(DTypeKind::f32, {2, 3})},
             {"k.0", zeros(DTypeKind::f32, {4})},
             {"k.1", zeros(DTypeKind::f32, {5})},
             {"t", zeros(DTypeKind::i32, {})}};
  }
  // By both that take tensors, with `name` as given.
  void refused(const std::string& name, const TensorData& tensor,
               const std::vector<std::string>& words) {
    GlobalTensors tensors = given;
    tensors[name] = tensor;
    expect_refused([&] { distribute(kGraph, tensors, setting); }, words);
    expect_refused([&] { draw_missing(kGraph, setting, tensors); }, words);
  }

  interp::Setting setting;
  GlobalTensors given;
};

// As many bytes as are needed, all of them.
TEST_F(ExecuteInputs, OfAnotherDtypeOrShapeAreRefused) {
  distribute(kGraph, given, setting);
  refused("q", zeros(DTypeKind::i32, {2, 3}), {"input q has dtype i32; needed is f32"});
  refused("q", zeros(DTypeKind::f16, {2, 6}), {"input q has dtype f16; needed is f32"});
  refused("g", zeros(DTypeKind::i32, {2, 2, 3}),
          {"input g has dtype i32; needed is f32 (T, by --dtype; in C++, by the graph)"});
  refused("t", zeros(DTypeKind::f32, {}), {"input t has dtype f32; needed is i32"});
  refused("q", zeros(DTypeKind::f32, {3, 2}), {"input q: dim 0, N, must be 2; found 3"});
  refused("q", zeros(DTypeKind::f32, {6}), {"input q has shape [6]; needed is [N,M], here [2, 3]"});
  refused("g", zeros(DTypeKind::f32, {4, 3}), {"input g has shape [4, 3]; needed is [size(dp),N"});
  refused("t", zeros(DTypeKind::i32, {1}), {"input t has shape [1]; needed is []"});
  refused("k.1", zeros(DTypeKind::f32, {4}), {"input k.1: dim 0, N_i, must be 5; found 4"});
  refused("k.1", zeros(DTypeKind::i32, {5}), {"input k.1 has dtype i32; needed is f32"});
  TensorData halved = zeros(DTypeKind::f32, {2, 3});
  halved.bytes.resize(12);
  refused("q", halved, {"input q holds 12 bytes; its shape [2, 3] of f32 needs 24"});
}

TEST_F(ExecuteInputs, OfAnotherNameAreRefused) {
  refused("qq", zeros(DTypeKind::f32, {2, 3}),
          {"no input qq; did you mean `q`?; its inputs are g, q, k, rate, t"});
  refused("k", zeros(DTypeKind::f32, {9}), {"k is a list; needed are its members, k.0, ..."});
  refused("q.0", zeros(DTypeKind::f32, {2, 3}), {"q is no list; needed is q"});
  refused("k.2", zeros(DTypeKind::f32, {4}), {"the list k has 3 members, dim N_i 2"});
}

TEST_F(ExecuteInputs, ThatAreMissingAreRefusedOrHaveTheirDefaults) {
  const auto without = [&](const std::string& name) {
    GlobalTensors tensors = given;
    tensors.erase(name);
    return distribute(kGraph, tensors, setting);
  };
  const auto refused_without = [&](const std::string& name, const std::string& words) {
    expect_refused([&] { interp::run(kGraph, without(name), setting); }, {words});
  };
  refused_without("q", "input q has no value, and no default; needed is f32[N,M]");
  refused_without("t", "input t has no value, and no default; needed is i32[]");
  refused_without("k.1", "the list k has 1 members, dim N_i 2");
  GlobalTensors half = given;
  half["rate"] = zeros(DTypeKind::f32, {});
  half["rate"].set_value(0, 0.5);
  EXPECT_EQ(interp::run(kGraph, without("rate"), setting).outputs,
            interp::run(kGraph, distribute(kGraph, half, setting), setting).outputs);
  half["rate"].set_value(0, 1.5);
  expect_refused([&] { distribute(kGraph, half, setting); }, {"must be from 0 to 1; found 1.5"});
  half.erase("t");
  half.erase("rate");
  expect_refused([&] { draw_missing(kGraph, setting, half); },
                 {"scalar t has no value and no default", "in C++, a tensor t"});
}

TEST_F(ExecuteInputs, OfAnotherSettingAreRefused) {
  const auto refused_by = [&](const interp::Setting& other, const std::vector<std::string>& words) {
    expect_refused([&] { distribute(kGraph, given, other); }, words);
    expect_refused([&] { interp::run(kGraph, {}, other); }, words);
  };
  interp::Setting other = setting;
  other.mesh = {{2, 2}};
  refused_by(other, {"found 2 mesh sizes; mesh world(dp) needs 1"});
  other.mesh = {{0}};
  refused_by(other, {"axis dp has size 0"});
  other = setting;
  other.sizes["N"] = -4;
  refused_by(other, {"dim N must not be negative; found -4"});
  other = setting;
  other.sizes.erase("N");
  expect_refused([&] { distribute(kGraph, given, other); },
                 {"Setting::sizes has no size of dim N", "bind_dims"});
  expect_refused([&] { distribute(kGraph, {}, other); },
                 {"dim N has no size; give --dim N=SIZE", "in C++, Setting::sizes"});
  other.sizes = {};
  expect_refused([&] { distribute(kGraph, {}, other); },
                 {"dims N, M, N_i have no sizes; give --dim N=SIZE,M=SIZE,N_i=SIZE,SIZE,... or"});
  EXPECT_EQ(bind_dims(kGraph, given, {{2}}, {}).lists.at("N_i").size(), 2);
}

TEST_F(ExecuteInputs, ResultsAreGatheredAsTheyAre) {
  const auto pieces = distribute(kGraph, given, setting);
  const auto type = [&](const char* name) { return kGraph.node(kGraph.find(name)).type; };
  EXPECT_EQ(gather(type("q"), pieces.at("q"), setting), given.at("q"));
  EXPECT_EQ(gather_members(type("k"), pieces.at("k"), setting)[1], given.at("k.1"));
  expect_refused([&] { gather(type("k"), pieces.at("k"), setting); }, {"gather_members"});
  expect_refused([&] { gather_members(type("q"), pieces.at("q"), setting); }, {"of a tensor"});
  expect_refused([&] { gather(type("g"), pieces.at("t"), setting); }, {"its type needs 24"});
  interp::Setting other = setting;
  other.mesh = {{2, 1}};
  expect_refused([&] { gather(type("q"), pieces.at("q"), other); }, {"found 2 mesh sizes"});
}

}  // namespace
}  // namespace coconet::execute
