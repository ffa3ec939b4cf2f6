#include "coconet/schedule/file.h"

#include <gtest/gtest.h>

#include "coconet/graph/print.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

const std::string kTwo = R"(
mesh world(tp)
dim N, M
program first(x: f32[N]) { y = x + 1; return y }
program second(x: f32[N,M]) { y = x * 2  return y }
schedule fast for first { }
schedule fast for second { }
schedule slow for second { }
)";

TEST(File, HoldsProgramsAndSchedules) {
  const File file = parse_file(kTwo);
  ASSERT_EQ(file.programs.size(), 2u);
  ASSERT_EQ(file.schedules.size(), 3u);
  EXPECT_EQ(file.program("second").header().program, "second");
  EXPECT_EQ(file.schedule("second", "fast").program, "second");
}

TEST(File, AProgramHasTheDimsOfItsInputs) {
  const File file = parse_file(kTwo);
  EXPECT_EQ(file.program("first").header().dims, std::vector<std::string>{"N"});
  EXPECT_EQ(file.program("second").header().dims, (std::vector<std::string>{"N", "M"}));
}

TEST(File, SaysWhichThereAre) {
  const File file = parse_file(kTwo);
  EXPECT_EQ(test::user_error_of([&] { file.program(); }),
            "which program is meant? the file has first, second");
  EXPECT_EQ(test::user_error_of([&] { file.program("third"); }),
            "`third` is not a program of the file, which has first, second");
  EXPECT_EQ(test::user_error_of([&] { file.schedule("second", "slwo"); }),
            "`slwo` is not a schedule for second; did you mean `slow`?; there are: fast, slow");
  EXPECT_EQ(test::user_error_of([&] { file.schedule("none", "fast"); }),
            "`fast` is not a schedule for none; there are: none");
}

TEST(File, ReadsFromDisk) {
  const test::TemporaryFolder folder;
  test::write_text(folder.path("two.coco"), kTwo);
  std::string text;
  EXPECT_EQ(read_file(folder.path("two.coco"), &text).programs.size(), 2u);
  EXPECT_EQ(text, kTwo);
  EXPECT_NE(
      test::user_error_of([&] { read_file(folder.path("none.coco")); }).find("cannot be opened"),
      std::string::npos);
  EXPECT_NE(test::user_error_of([&] { read_file(folder.path("")); }).find("is a directory"),
            std::string::npos);
}

std::string with_dtype(const std::string& dtype) {
  return "mesh world(tp)\ndim N\ndtype T = " + dtype +
         "\nprogram p(x: T[N] sliced(0), scalar a: T = 2) {\n  y = norm(x) * 2 + a\n  return "
         "y\n}\n";
}

// The norm of f64 computes in f64 whatever the default is.
TEST(File, DTypesAreBoundAsIfTheyWereDeclaredSo) {
  for (const DTypeKind kind : {DTypeKind::f16, DTypeKind::f64, DTypeKind::f32}) {
    const Graph bound = parse_file(with_dtype("f16"), "", {.dtypes = {{"T", kind}}}).program();
    EXPECT_EQ(bound, parse_program(with_dtype(std::string(name_of(kind)))));
    EXPECT_EQ(parse_program(print(bound)), bound);
  }
  const std::string wide =
      print(parse_file(with_dtype("f16"), "", {.dtypes = {{"T", f64.kind}}}).program());
  EXPECT_NE(wide.find("cast(x, f64)"), std::string::npos) << wide;
  EXPECT_EQ(wide.find("f32"), std::string::npos) << wide;
  EXPECT_EQ(parse_file(with_dtype("f16")).dtypes, std::vector<std::string>{"T"});
}

TEST(File, WhatABoundDTypeCannotHoldIsRefused) {
  const auto bound_to = [](const std::string& expression, DTypeKind kind) {
    const std::string text =
        "mesh world(tp)\ndim N\ndtype T = f32\nprogram p(x: T[N]) {\n  y = " + expression +
        "\n  return y\n}\n";
    try {
      parse_file(text, "", {.dtypes = {{"T", kind}}});
    } catch (const UserErrors& errors) {
      return std::string(errors.what());
    }
    return std::string();
  };
  EXPECT_NE(bound_to("x * 70000", DTypeKind::f16).find("T (f16), which takes smaller values"),
            std::string::npos);
  EXPECT_NE(bound_to("x + 1e-9", DTypeKind::f16).find("rounds to 0"), std::string::npos);
  EXPECT_NE(bound_to("sqrt(x)", DTypeKind::i32).find("floating"), std::string::npos);
  const std::string text =
      "mesh world(tp)\ndim N\ndtype T = f32\nprogram p(x: T[N]) { y = x * 2 return y }";
  EXPECT_NO_THROW(parse_file(text, "", {.dtypes = {{"T", DTypeKind::i32}}}));
}

TEST(File, OneProgramAloneMayBeRead) {
  const File file = parse_file(kTwo, "", {.dtypes = {}, .only = "second"});
  ASSERT_EQ(file.programs.size(), 1u);
  EXPECT_EQ(file.program().header().program, "second");
}

TEST(File, NewlinesCarryNoMeaning) {
  const std::string spread =
      "mesh\nworld(\ntp)dim N program p(x\n:f32\n[N\n]sliced(\n0)\n)\n{y=x\n+\n1 "
      "z=\ny*x;;return\nz}";
  std::string lines = spread;
  EXPECT_THROW(parse_file(spread), UserErrors);  // an empty statement
  lines.erase(lines.find(';'), 1);
  const Graph graph = parse_program(lines);
  EXPECT_EQ(expression_text(graph, graph.find("z")), "y * x");
  std::string crlf = kTwo;
  for (std::size_t at = 0; (at = crlf.find('\n', at)) != std::string::npos; at += 2) {
    crlf.insert(at, "\r");
  }
  EXPECT_EQ(parse_file("\xEF\xBB\xBF" + crlf).programs.size(), 2u);
}

TEST(File, OnDiskMayBeEmptyAndMustEnd) {
  const test::TemporaryFolder folder;
  test::write_text(folder.path("empty.coco"), "");
  EXPECT_TRUE(read_file(folder.path("empty.coco")).programs.empty());
  test::write_text(folder.path("large.coco"), std::string((16 << 20) + 1, ' '));
  ASSERT_EQ(mkfifo(folder.path("pipe.coco").c_str(), 0600), 0);
  const auto refused = [](const std::string& path, const char* words) {
    EXPECT_NE(test::user_error_of([&] { read_file(path); }).find(words), std::string::npos) << path;
  };
  refused(folder.path("large.coco"), "16 MiB");
  refused("/dev/zero", "is a device; a regular file is needed");
  refused(folder.path("pipe.coco"), "is a pipe; a regular file is needed");
  refused(folder.path(""), "is a directory; a regular file is needed");
  refused(folder.path("none.coco"), "cannot be opened: No such file");
}

}  // namespace
}  // namespace coconet
