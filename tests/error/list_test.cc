// What lists are refused, each by the operands' types and what would be legal.
#include <gtest/gtest.h>

#include "tests/error/parse_fixture.h"

namespace coconet::fixture {
namespace {

std::string with_lists(const std::string& statement, const std::string& more = "") {
  return "mesh world(dp)\ndim N_i, M_i, K_j, H\nprogram p(x: f32[N_i] list, y: f32[N_i] list "
         "local, s: f32[N_i] list sliced(*), n: f32[] list, "
         "w: f32[M_i,H] list, k: f32[K_j] list, h: f32[H]" +
         more + ") {\n  " + statement + "\n  return x\n}\n";
}

void expect_error(const std::string& statement, const std::string& column,
                  const std::string& words) {
  SCOPED_TRACE(statement);
  expect_errors(with_lists(statement), {{"4:" + column, words}});
}

TEST(ListRefusal, OfOperandsThatAreNoListOfTheSameDims) {
  expect_error("z = x + h", "7", "f32[H] meets f32[N_i] list");
  expect_error("z = x + w", "7", "needed: lists of the same dims");
  expect_error("z = x + k", "7", "a list of scalars over i");
  expect_error("z = k * n", "7", "f32[] list meets f32[K_j] list");
  expect_error("z = x + y * s", "11", "on axis dp");
  expect_error("z = update(x, n)", "7", "[] and the storage [N_i]");
}

TEST(ListRefusal, OfOtherOperations) {
  expect_error("z = matmul(w, w)", "7", "matmul takes no lists; found f32[M_i,H] list");
  expect_error("z = layer_norm(w, h, h, 1e-5)", "7", "layer_norm takes no lists");
  expect_error("z = sum(w, [1])", "7", "sum(x), one scalar for each member");
  expect_error("z = norm(n)", "7", "legal: across(x, +)");
}

TEST(ListRefusal, OfMembersThatAcrossCannotFold) {
  expect_error("z = across(h, +)", "7", "needed a list, whose members fold to one");
  expect_error("z = across(x, +)", "7", "across(norm(x), +)");
  expect_error("z = across(w, +)", "7",
               "its members may differ in size; needed: the shape that all "
               "members have, [M_i,H] with a dim of one size");
  expect_error("z = across(w, +, size=[H])", "7", "found size=[H]; needed");
  expect_error("z = across(w, +, size=[H,4])", "7", "found size=[H,4]; needed");
  expect_error("z = across(w, +, size=[M_i,H])", "7", "as size=[N,H] of members [N_i,H]");
  expect_error("z = across(x, +, size=[K_j])", "7", "K_j is a dim of the list `k`");
  expect_error("z = across(n, +, size=[H])", "7", "scalars, which have no size");
  expect_error("z = across(s, +, size=[H])", "7", "across(all_gather(x), +, size=[...])");
  expect_error("z = fold(all_gather(block_max(s)), max, mean=true)", "7", "a mean is of sums");
}

TEST(ListRefusal, OfSlicesByDims) {
  expect_error("z = shard(x, (0))", "7", "legal: sliced(*)");
  expect_error("z = reduce_scatter(y, +, (0))", "7", "legal: sliced(*)");
  expect_error("z = shard(n, (*))", "7", "list of scalars");
}

TEST(ListRefusal, OfDimsOfListsElsewhere) {
  expect_errors(with_lists("z = x", ", o: f32[N_i]"),
                {{"3:145",
                  "N_i is a dim of the list `x`, with a size for each member, but stands "
                  "in `o`"}});
  expect_errors(with_lists("z = x / size(N_i)"), {{"4:7", "stands in size(N_i); needed"}});
  expect_error("z = narrow(h, 0, M_i, 0)", "7", "M_i is a dim of the list `w`");
  expect_error("z = -narrow(h, 0, 0, N_i)", "8", "each member, but stands in a narrow; needed");
  expect_errors(with_lists("z = x", ", o: f32[] list(q)"),
                {{"3:145", "nothing says how many scalars the list `o` has"}});
}

TEST(ListRefusal, OfTypes) {
  const auto input = [](const std::string& type) {
    return "mesh world(dp)\ndim N_i, K_j, H\nprogram p(x: " + type +
           ", l: f32[N_i,H] list, "
           "k: f32[K_j] list) { return x }\n";
  };
  expect_errors(input("f32[H] list"), {{"3:14", "numbered by member"}});
  expect_errors(input("f32[N_i,K_j] list"), {{"3:14", "two indices, of N_i and of K_j"}});
  expect_errors(input("f32[N_i] list(j)"), {{"3:14", "two indices"}});
  expect_errors(input("f32[N_i] list sliced(0)"), {{"3:14", "legal: sliced(*)"}});
}

}  // namespace
}  // namespace coconet::fixture
