// Dropout whose mask depends on the ranks, the slice or the fusion, or is the same in each call or
// on each data-parallel replica, was seen in several frameworks. The words of the masks are held to
// Random123's in unit/kernel/dropout_test.cc; the mask of generated code on processes is compared
// in ranks/cli_run_test.cc.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/support/everywhere.h"

namespace coconet::tests {
namespace {

using Values = std::vector<double>;
const Sizes kSizes = {{"N", 9}, {"M", 260}};

// Ones, so that what comes back is the mask times 2.
Values mask(const std::string& type, const std::string& steps, const std::vector<int>& mesh,
            Also also = Also::executor, std::uint64_t call = 0) {
  const bool two = mesh.size() == 2;
  const std::string whole =
      type.empty() ? "drop" : "all_gather(drop)" + std::string(two ? "@tp" : "");
  int copies = 1;
  if (type.find("local") != std::string::npos) copies = mesh[0];
  const std::string program = "mesh world(" + std::string(two ? "dp, " : "") +
                              "tp)\ndim N, M\nprogram p(x: f32[N,M] " + type + ", b: f32[M]) {\n" +
                              "  drop = dropout(x + b, 0.5)\n  out = " + whole +
                              "\n  return out\n}\n";
  return run_everywhere(program, steps, kSizes, mesh,
                        {{"x", Values(9 * 260 * copies, 1)}, {"b", Values(260, 0)}}, also, call)
      .global("out");
}

TEST(FieldDropout, OneMaskForAnyNumberOfRanksAndAnySlice) {
  const Values want = mask("sliced(0)", "", {1}, Also::compiled);
  EXPECT_EQ(std::set<double>(want.begin(), want.end()), (std::set<double>{0, 2}));
  for (const int ranks : {2, 3, 4, 8}) {
    for (const char* type : {"sliced(0)", "sliced(1)", "sliced(0..1)"}) {
      EXPECT_EQ(mask(type, "", {ranks}), want) << type << " on " << ranks;
      EXPECT_EQ(mask(type, "fuse(drop, out)", {ranks}), want) << "fused, " << type;
    }
  }
  EXPECT_EQ(mask("sliced(1)", "fuse(drop, out)", {3}, Also::compiled), want);
  EXPECT_EQ(mask("sliced(0..1)", "", {8}, Also::compiled), want);
}

// Scheduled: whole, in slices by rows, by columns, by blocks.
TEST(FieldDropout, OneMaskWhateverTheSchedule) {
  const std::string program = R"(
mesh world(tp)
dim N, M
program p(x: f32[N,M] partial(+)) {
  total = all_reduce(x, +)
  out = dropout(total, 0.5)
  return out
}
)";
  const Values want = mask("sliced(0)", "", {1});
  for (const int ranks : {1, 2, 3, 4, 8}) {
    Values x(9 * 260 * ranks, 0);
    std::fill(x.begin(), x.begin() + 9 * 260, 1);
    for (const char* slice : {"(0)", "(1)", "(0..1)", "(*)"}) {
      const std::string steps = "rs, ag = split(total, " + std::string(slice) +
                                ") body, gather = reorder(ag, [out]) fuse(rs, body, gather)";
      const Everywhere ran = run_everywhere(program, steps, kSizes, {ranks}, {{"x", x}},
                                            ranks == 3 ? Also::compiled : Also::executor);
      EXPECT_EQ(ran.global("out"), want) << slice << " on " << ranks;
    }
  }
}

TEST(FieldDropout, AnotherMaskInTheNextCall) {
  const Values first = mask("sliced(0)", "", {2}, Also::executor, 0);
  const Values next = mask("sliced(0)", "", {2}, Also::executor, 1);
  EXPECT_NE(first, next);
  EXPECT_EQ(mask("sliced(1)", "", {4}, Also::executor, 1), next);
}

TEST(FieldDropout, AnotherMaskOnEachReplica) {
  const Values both = mask("local@dp sliced(0)@tp", "", {2, 2}, Also::compiled);
  const auto half = both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2);
  const Values one(both.begin(), half), other(half, both.end());
  EXPECT_NE(one, other);
  EXPECT_EQ(mask("local@dp sliced(1)@tp", "", {2, 3}), both);  // the same for any slice
}

}  // namespace
}  // namespace coconet::tests
