// Dims of lists, where members stand, and the types of lists.
#include "coconet/type/list.h"

#include <gtest/gtest.h>

#include "coconet/type/tensor_type.h"
#include "tests/refusal.h"

namespace coconet {
namespace {

Sizes sizes_of(std::vector<std::int64_t> n) {
  Sizes out = {{"H", 3}};
  out.lists["N_i"] = std::move(n);
  return out;
}

using fixture::expect_refused;

const Dim kN = Dim::named("N_i"), kH = Dim::named("H");

TEST(List, IndexOfADim) {
  EXPECT_EQ(list_index("N_i"), "i");
  EXPECT_EQ(list_index("rows_of_j"), "j");
  for (const char* name : {"N", "N_", "_i", "N_I", "N_ii", "N_1", "Ni"}) {
    EXPECT_EQ(list_index(name), "") << name;
  }
  EXPECT_EQ(list_index(kH * kN), "i");
  EXPECT_EQ(list_index(Dim::members("k")), "k");
}

TEST(List, MembersTakeWholeBlocks) {
  const Sizes sizes = sizes_of({5, 1027, 0, 1024, 1});
  const ListBlocks list(kN, sizes);
  EXPECT_EQ(list.members(), 5);
  EXPECT_EQ(list.first_block(), (std::vector<std::int64_t>{0, 1, 3, 3, 4, 5}));
  EXPECT_EQ(list.member_of(0), 0);
  EXPECT_EQ(list.member_of(2), 1);
  EXPECT_EQ(list.member_of(3), 3);  // the empty one has none
  EXPECT_EQ(list.valid(0), 5);
  EXPECT_EQ(list.valid(1), 1024);
  EXPECT_EQ(list.valid(2), 3);
  EXPECT_EQ(list.valid(3), 1024);
  EXPECT_EQ(Dim::packed(kN).bind(sizes), 5 * 1024);
  EXPECT_EQ(Dim::blocks(Dim::packed(kN)).bind(sizes), 5);
  EXPECT_EQ(Dim::members("i").bind(sizes), 5);
}

TEST(List, MembersOfSeveralDims) {
  const ListBlocks list(kN * kH, sizes_of({2, 500}));
  EXPECT_EQ(list.elements(), (std::vector<std::int64_t>{6, 1500}));
  EXPECT_EQ(list.blocks(), 3);
}

TEST(List, OfNoMembers) {
  const Sizes sizes = sizes_of({});
  EXPECT_EQ(Dim::packed(kN).bind(sizes), 0);
  EXPECT_EQ(Dim::members("i").bind(sizes), 0);
}

TEST(List, NumbersOfMembersAgree) {
  Sizes sizes = sizes_of({1, 2});
  sizes.lists["M_i"] = {3};
  sizes.lists["M_j"] = {3};
  expect_refused([&] { sizes.members("i"); }, {"one number of members", "M_i", "N_i"});
  EXPECT_EQ(sizes.members("j"), 1);
  expect_refused([&] { sizes.members("k"); }, {"index k", "--dim N_k=SIZE,SIZE"});
}

TEST(ListType, Text) {
  const Mesh mesh{"world", {"dp"}};
  const Layout whole(1);
  EXPECT_EQ(list_of(f16, {kN}, whole.with(0, Local{})).text(mesh), "f16[N_i] list local");
  EXPECT_EQ(list_of(f16, {kH, kN}, whole).text(mesh), "f16[H,N_i] list");
  EXPECT_EQ(list_of(f32, {}, whole).text(mesh), "f32[] list");
  EXPECT_EQ(list_of(f32, {}, whole, "k").text(mesh), "f32[] list(k)");
  const TensorType flat = list_of(f32, {kN}, whole.with(0, Sliced{Slice::all()}));
  EXPECT_EQ(flat.text(mesh), "f32[N_i] list sliced(*)");
  EXPECT_EQ(flat.shape, Shape{Dim::packed(kN)});
  validate(flat, mesh);
}

TEST(ListType, Refusals) {
  const Mesh mesh{"world", {"dp"}};
  const Layout whole(1);
  const Dim m = Dim::named("M_j");
  expect_refused([&] { list_of(f32, {kH}, whole); }, {"[H] list", "numbered by member", "N_i"});
  expect_refused([&] { list_of(f32, {kN, m}, whole); }, {"two indices", "N_i", "M_j"});
  expect_refused([&] { list_of(f32, {kN}, whole, "j"); }, {"two indices", "list(j)", "N_i"});
  expect_refused([&] { list_of(f32, {}, whole, "ij"); }, {"one small letter", "ij"});
  expect_refused([&] { validate(list_of(f32, {kN}, whole.with(0, Sliced{Slice::dim(0)})), mesh); },
                 {"f32[N_i] list sliced(0)", "legal: sliced(*)"});
  expect_refused([&] { validate(list_of(f32, {}, whole.with(0, Sliced{Slice::all()})), mesh); },
                 {"list of scalars", "legal: replicated, local, partial, rooted"});
}

}  // namespace
}  // namespace coconet
