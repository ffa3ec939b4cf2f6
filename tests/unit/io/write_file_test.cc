#include "coconet/io/write_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "coconet/base/error.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

using Parts = std::vector<std::span<const std::byte>>;

TEST(WriteFile, WritesPartsInOrderAndLeavesNothingElse) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("x");
  write_file(path, Parts{test::bytes_of("ab"), {}, test::bytes_of("c")});
  EXPECT_EQ(test::read_text(path), "abc");
  write_file(path, Parts{});
  EXPECT_EQ(test::read_text(path), "");
  EXPECT_THAT(folder.names(), testing::ElementsAre("x"));
}

TEST(WriteFile, WritesThroughASymbolicLink) {
  const test::TemporaryFolder folder;
  test::write_text(folder.path("x"), "old");
  std::filesystem::create_symlink("x", folder.path("link"));
  write_file(folder.path("link"), Parts{test::bytes_of("new")});
  EXPECT_EQ(test::read_text(folder.path("x")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
}

TEST(WriteFile, TakesAPathWithoutAFolder) {
  const test::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  write_file("plain", Parts{test::bytes_of("x")});
  std::filesystem::current_path(before);
  EXPECT_THAT(folder.names(), testing::ElementsAre("plain"));
}

TEST(CheckWritable, FindsWhatWritingWouldAndLeavesNothing) {
  const test::TemporaryFolder folder;
  EXPECT_NO_THROW(check_writable(folder.path("x")));
  test::write_text(folder.path("old"), "old");
  EXPECT_NO_THROW(check_writable(folder.path("old")));
  EXPECT_EQ(test::read_text(folder.path("old")), "old");
  EXPECT_THROW(check_writable(folder.path("absent/x")), UserError);
  EXPECT_THROW(check_writable(folder.path("")), UserError);  // a folder
  EXPECT_THROW(check_writable("/dev/full"), UserError);
  EXPECT_THAT(folder.names(), testing::ElementsAre("old"));
}

}  // namespace
}  // namespace coconet
