// A list means its members one by one: the same program on the tensors that a list has gives the
// same bits.
#include <gtest/gtest.h>

#include <cmath>

#include "coconet/execute/inputs.h"
#include "coconet/execute/lists.h"
#include "coconet/interp/compare.h"
#include "coconet/interp/interpreter.h"
#include "coconet/interp/scalar.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"

namespace coconet::interp {
namespace {

Setting setting_of(std::vector<std::int64_t> n, int ranks) {
  Setting out;
  out.sizes.lists["N_i"] = std::move(n);
  out.mesh.sizes = {ranks};
  out.seed = 3;
  return out;
}

using Tensors = execute::GlobalTensors;

Tensors draw(const Graph& graph, const Setting& setting) {
  Tensors out;
  execute::draw_missing(graph, setting, out);
  return out;
}

std::vector<TensorData> members(const Graph& graph, const std::string& output, const Tensors& given,
                                const Setting& setting) {
  const Result result = run(graph, execute::distribute(graph, given, setting), setting);
  const TensorType& type = graph.node(graph.find(output)).type;
  return execute::gather_members(type, result.outputs.at(output), setting);
}

// `body` computes y of inputs g and p; each member alone must give what the list gives for it.
void expect_by_member(const std::string& body, const std::vector<std::int64_t>& n, int ranks,
                      const std::string& sliced = "") {
  const auto text = [&](const std::string& dim, const std::string& list) {
    return "mesh world(dp)\ndim " + dim + "\nprogram p(g: f16[" + dim + "]" + list +
           " local, p: f32[" + dim + "]" + list + sliced + ") {\n" + body + "\n  return y\n}\n";
  };
  const Graph list = parse_program(text("N_i", " list"));
  const Graph one = parse_program(text("N", ""));
  const Setting setting = setting_of(n, ranks);
  const Tensors given = draw(list, setting);
  const std::vector<TensorData> got = members(list, "y", given, setting);
  ASSERT_EQ(got.size(), n.size());
  for (std::size_t k = 0; k < n.size(); ++k) {
    Setting alone = setting;
    alone.sizes = {{"N", n[k]}};
    Tensors own;
    for (const char* name : {"g", "p"}) own[name] = given.at(execute::member_name(name, k));
    const Result result = run(one, execute::distribute(one, own, alone), alone);
    const TensorType& type = one.node(one.find("y")).type;
    EXPECT_EQ(got[k], execute::gather(type, result.outputs.at("y"), alone)) << "member " << k;
  }
}

const std::vector<std::int64_t> kMixed = {5, 1027, 0, 1, 2048, 3000};

TEST(List, PointwiseAndCollectivesAreOfEachMember) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    expect_by_member("  y = p - 0.5 * all_reduce(cast(g, f32), +)", kMixed, ranks);
    expect_by_member("  rs = reduce_scatter(cast(g, f32), +, (*))\n  y = all_gather(rs * 2.0)",
                     kMixed, ranks);
    expect_by_member("  y = broadcast(reduce(g, max, 0))", kMixed, ranks);
  }
}

TEST(List, FoldsAreOneOfEachMember) {
  for (const char* fold :
       {"norm(p)", "sum(p)", "max(p)", "min(p)", "mean(p)", "norm(g, out=f32)"}) {
    SCOPED_TRACE(fold);
    expect_by_member("  y = " + std::string(fold), kMixed, 2);
  }
}

TEST(List, FoldsOverSlicesHaveTheirBits) {
  for (const char* fold : {"norm(p)", "sum(p)", "max(p)", "mean(p)"}) {
    SCOPED_TRACE(fold);
    for (int ranks = 1; ranks <= 4; ++ranks) {
      expect_by_member("  y = " + std::string(fold), kMixed, ranks, " sliced(*)");
    }
  }
}

TEST(List, AScalarOfEachMemberMeetsItsElements) {
  expect_by_member("  s = sum(p)\n  y = where(s > 0, p / s, cast(g, f32))", kMixed, 1);
  expect_by_member("  y = all_gather(p / norm(p))", kMixed, 3, " sliced(*)");
}

TEST(List, OfNoMembersAndOfEmptyOnes) {
  expect_by_member("  y = p / norm(p)", {}, 3);
  expect_by_member("  y = norm(p)", {0, 0}, 3);
}

// In list order: 1e8 + 1 - 1e8 is 0 from the left.
TEST(List, AcrossFoldsInListOrder) {
  const Graph graph = parse_program(
      "mesh world(dp)\ndim N_i\nprogram p(p: f32[N_i] list, s: f32[] list) {\n"
      "  y = across(s, +)\n  m = across(s, max)\n  return y, m\n}\n");
  const Setting setting = setting_of({1, 1, 1}, 2);
  Tensors given;
  const double values[] = {1e8, 1, -1e8};
  for (int k = 0; k < 3; ++k) {
    TensorData scalar = TensorData::zeros(DTypeKind::f32, {});
    scalar.set_value(0, values[k]);
    given[execute::member_name("s", k)] = scalar;
  }
  execute::draw_missing(graph, setting, given);
  const Result result = run(graph, execute::distribute(graph, given, setting), setting);
  EXPECT_EQ(load(DTypeKind::f32, result.outputs.at("y")[1].data(), 0).f32, 0.0f);
  EXPECT_EQ(load(DTypeKind::f32, result.outputs.at("m")[1].data(), 0).f32, 1e8f);
}

// The members' elements fold as scalars would, in f32 also for 16 bits, and round once.
TEST(List, AcrossFoldsTensorsElementByElement) {
  const Graph graph = parse_program(
      "mesh world(dp)\ndim N_i, N, H\nprogram p(g: f16[N_i,H] list local) {\n"
      "  y = across(g, +, size=[N,H])\n  m = across(g, max, size=[N,H])\n"
      "  return y, m\n}\n");
  Setting setting = setting_of({600, 600, 600}, 2);
  setting.sizes["N"] = 600;
  setting.sizes["H"] = 2;
  Tensors given;
  for (int k = 0; k < 3; ++k) {
    TensorData member = TensorData::zeros(DTypeKind::f16, {2, 600, 2});
    for (std::int64_t i = 0; i < member.elements(); ++i) {
      member.set_value(i, k == 0 ? 2048 : k == 1 ? 1 : i % 1200 == 1100 ? 7 : 1);
    }
    given[execute::member_name("g", k)] = member;
  }
  const Result result = run(graph, execute::distribute(graph, given, setting), setting);
  for (int rank = 0; rank < 2; ++rank) {
    const Bytes &y = result.outputs.at("y")[rank], &m = result.outputs.at("m")[rank];
    ASSERT_EQ(y.size(), 1200 * sizeof(std::uint16_t));
    EXPECT_EQ(cast(load(DTypeKind::f16, y.data(), 1099), DTypeKind::f32).f32, 2050.0f);
    EXPECT_EQ(cast(load(DTypeKind::f16, y.data(), 1100), DTypeKind::f32).f32, 2056.0f);
    EXPECT_EQ(cast(load(DTypeKind::f16, m.data(), 1100), DTypeKind::f32).f32, 2048.0f);
  }
}

TEST(List, AcrossOfNoMembersIsTheIdentity) {
  const Graph graph = parse_program(
      "mesh world(dp)\ndim N_i, N\nprogram p(g: f32[N_i] list, s: f32[] list) {\n"
      "  y = across(g, prod, size=[N])\n  z = across(s, max)\n  return y, z\n}\n");
  Setting setting = setting_of({}, 1);
  setting.sizes["N"] = 3;
  const Result result = run(graph, execute::distribute(graph, {}, setting), setting);
  EXPECT_EQ(load(DTypeKind::f32, result.outputs.at("y")[0].data(), 2).f32, 1.0f);
  EXPECT_TRUE(std::isinf(load(DTypeKind::f32, result.outputs.at("z")[0].data(), 0).f32));
}

TEST(List, AcrossNeedsMembersOfOneSize) {
  const Graph graph = parse_program(
      "mesh world(dp)\ndim N_i, N\nprogram p(g: f32[2*N_i] list) {\n"
      "  y = across(g, +, size=[N])\n  return y\n}\n");
  const auto bound = [&](std::vector<std::int64_t> n) {
    Setting setting = setting_of(std::move(n), 2);
    setting.sizes["N"] = 8;
    run(graph, execute::distribute(graph, draw(graph, setting), setting), setting);
  };
  bound({4, 4});
  fixture::expect_refused(
      [&] {
        bound({4, 4, 3});
      },
      {"member 2 has 2*N_i = 6 and member 0 N = 8; give sizes that are equal"});
  fixture::expect_refused([&] { bound({3, 4}); }, {"member 0 has 2*N_i = 6 and size says N = 8"});
}

TEST(List, RequirementsAreOfEachMember) {
  const Graph graph = parse_program(
      "mesh world(dp)\ndim N_i, M_j\nrequire N_i <= 4*size(dp) and N_i != M_j\n"
      "program p(g: f32[N_i] list, h: f32[M_j] list) {\n  y = norm(g)\n  z = norm(h)\n"
      "  return y, z\n}\n");
  const auto bound = [&](std::vector<std::int64_t> n, std::vector<std::int64_t> m) {
    Setting setting = setting_of(std::move(n), 2);
    setting.sizes.lists["M_j"] = std::move(m);
    run(graph, execute::distribute(graph, draw(graph, setting), setting), setting);
  };
  bound({8, 0, 3}, {1, 2});
  bound({}, {7});
  fixture::expect_refused([&] { bound({8, 9, 3}, {1}); }, {"the program requires N_i", "N_i = 9"});
  fixture::expect_refused([&] { bound({3, 2}, {1, 2}); }, {"does not hold", "M_j = 2"});
}

// What stands behind a member in its last block reaches nothing.
TEST(List, PadsAreNotRead) {
  const Graph graph = parse_program(
      "mesh world(dp)\ndim N_i\nprogram p(g: f32[N_i] list local) {\n"
      "  total = all_reduce(g, +)\n  n = norm(total)\n  w = across(n, +)\n"
      "  y = total / n * w\n  return y, n\n}\n");
  const Setting setting = setting_of({3, 1025, 0}, 2);
  const auto clean = execute::distribute(graph, draw(graph, setting), setting);
  auto spoiled = clean;
  for (Bytes& bytes : spoiled.at("g")) {
    for (std::int64_t i : {3, 1023, 2049, 3071}) {
      store(scalar(std::numeric_limits<float>::quiet_NaN()), bytes.data(), i);
    }
  }
  const Result want = run(graph, clean, setting), got = run(graph, spoiled, setting);
  EXPECT_EQ(got.outputs.at("n"), want.outputs.at("n"));
  const TensorType& type = graph.node(graph.find("y")).type;
  EXPECT_EQ(execute::gather_members(type, got.outputs.at("y"), setting),
            execute::gather_members(type, want.outputs.at("y"), setting));
}

}  // namespace
}  // namespace coconet::interp
