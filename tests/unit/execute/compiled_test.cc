#include "coconet/execute/compiled.h"

#include <gmock/gmock.h>

#include "coconet/runtime/cores.h"
#include "tests/support/files.h"
#include "tests/support/planned.h"

namespace coconet::execute {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;

plan::Plan plan_of(const std::string& name) {
  const std::string program = "mesh world(dp)\ndim N\nprogram " + name +
                              "(x: f32[N] local) {\n  y = all_reduce(x, +)\n  return y\n}\n";
  return planned(program, "", {{"N", 4}}, {2}).plan;
}

// A toolchain whose compiler is this script when it compiles; "$source" is what.
runtime::Toolchain toolchain_of(const TemporaryFolder& folder, const std::string& script) {
  const std::string path = folder.path("cxx");
  test::write_text(path, R"(#!/bin/bash
for word; do [[ $word == *module.cc ]] && source=$word; done
if [[ -n $source ]]; then
)" + script + R"(
fi
exec c++ "$@"
)");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return runtime::Toolchain(
      {.compiler = path, .include_dir = "", .cache_dir = folder.path("cache")});
}

TEST(CompileAll, CompilesSideBySide) {
  if (runtime::allowed_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  const TemporaryFolder folder;
  const std::string here = folder.path("");
  // Each waits for the other, 30 s at most.
  const runtime::Toolchain toolchain = toolchain_of(folder, "touch " + here + R"(begun.$$
for ((i = 0; i < 600; i++)); do
  [[ $(ls )" + here + R"(begun.* | wc -l) == 2 ]] && break
  sleep 0.05
done
[[ $i -lt 600 ]] || exit 1
)");
  const std::vector<Compiled> made = compile_all({plan_of("a"), plan_of("b")}, toolchain);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_THAT(made[0].source(), HasSubstr("program a("));
  EXPECT_THAT(made[1].source(), HasSubstr("program b("));
  EXPECT_NE(made[0].library().path, made[1].library().path);
}

TEST(CompileAll, ThrowsWhatThePlanThrows) {
  const TemporaryFolder folder;
  const runtime::Toolchain toolchain = toolchain_of(folder, R"(
if grep -q "program bad(" "$source"; then echo "no such thing"; exit 1; fi
)");
  try {
    compile_all({plan_of("a"), plan_of("bad"), plan_of("c")}, toolchain);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no such thing"));
  }
}

TEST(CompileAll, OfNoPlansIsNothing) { EXPECT_TRUE(compile_all({}, runtime::Toolchain()).empty()); }

}  // namespace
}  // namespace coconet::execute
