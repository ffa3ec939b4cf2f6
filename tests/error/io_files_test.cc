#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include "coconet/base/error.h"
#include "coconet/io/npy.h"
#include "coconet/io/safetensors.h"
#include "coconet/io/tensor_spec.h"
#include "coconet/io/write_file.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

using test::user_error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

void write(const std::string& path, std::string_view text) {
  write_file(path, std::array<std::span<const std::byte>, 1>{test::bytes_of(text)});
}

TEST(FilesError, ReadingNamesThePathAndWhatIsThere) {
  const test::TemporaryFolder folder;
  const std::string pipe = folder.path("pipe.npy");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  test::write_text(folder.path("empty.npy"), "");
  const auto npy = [](const std::string& path) { return user_error_of([&] { read_npy(path); }); };
  const auto safetensors = [](const std::string& path) {
    return user_error_of([&] { SafetensorsFile{path}; });
  };
  const std::string missing = folder.path("missing.npy");
  EXPECT_THAT(npy(missing), AllOf(StartsWith(missing), HasSubstr("No such file")));
  EXPECT_THAT(safetensors(missing), AllOf(StartsWith(missing), HasSubstr("No such file")));
  EXPECT_THAT(npy(folder.path(".")), HasSubstr("is a directory; a regular file is needed"));
  EXPECT_THAT(safetensors(folder.path(".")), HasSubstr("is a directory"));
  EXPECT_THAT(npy(pipe), HasSubstr("is a pipe"));
  EXPECT_THAT(npy("/dev/null"), HasSubstr("is a device"));
  EXPECT_THAT(npy(folder.path("empty.npy")), HasSubstr("0 bytes"));
  EXPECT_THAT(safetensors(folder.path("empty.npy")), HasSubstr("has 0 bytes"));
  EXPECT_THAT(npy(""), HasSubstr("No such file"));
  EXPECT_THAT(npy(std::string("a\0b", 3)), HasSubstr("zero byte"));
}

TEST(FilesError, AllAreOfTheKindData) {
  try {
    read_npy("/missing/x.npy");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
  }
}

TEST(FilesError, WritingNamesThePathAndWhatIsThere) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("missing/x.npy");
  EXPECT_THAT(user_error_of([&] { write(path, "x"); }),
              AllOf(StartsWith(path), HasSubstr("missing\": No such file")));
  EXPECT_THAT(user_error_of([&] { write(folder.path("."), "x"); }), HasSubstr("is a directory"));
  EXPECT_THAT(user_error_of([&] { write("/dev/null", "x"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(user_error_of([&] { write("", "x"); }), HasSubstr("is no file name"));
  test::write_text(folder.path("file"), "");
  EXPECT_THAT(user_error_of([&] { write(folder.path("file/x.npy"), "x"); }),
              HasSubstr("Not a directory"));
}

// A disk that is full, by the limit on the size of a file: the old file stays, no part of the new.
TEST(FilesError, AFullDiskLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  write(folder.path("x"), "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      user_error_of([&] { write(folder.path("x"), std::string(10000, 'n')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, signal_before);
  EXPECT_THAT(message, AllOf(StartsWith(folder.path("x")),
                             HasSubstr("writing at byte 4096 failed: File too large")));
  EXPECT_EQ(test::read_text(folder.path("x")), "old");
  EXPECT_THAT(folder.names(), ElementsAre("x"));
}

TEST(FilesError, Specs) {
  const auto parse = [](const char* text) {
    return user_error_of([&] { parse_tensor_spec(text); });
  };
  EXPECT_THAT(parse(""), HasSubstr("ends neither in .npy nor in .safetensors"));
  EXPECT_THAT(parse("x.npz"), HasSubstr("\"x.npz\": it ends neither"));
  EXPECT_THAT(parse("x.npy:w"), HasSubstr("holds one tensor without a name"));
  EXPECT_THAT(parse("x.safetensors:"), HasSubstr("no name follows"));
  EXPECT_THAT(parse("x.safetensors:[0:1]"), HasSubstr("no name follows"));
  EXPECT_THAT(parse("x.npy[2:1]"), HasSubstr("the rows end at 1, before their begin 2"));
  EXPECT_THAT(parse("x.npy[-1:1]"), HasSubstr("the row \"-1\" is not a whole number"));
  EXPECT_THAT(parse("x.npy[0:1:2]"), HasSubstr("the row \"1:2\""));
  EXPECT_THAT(parse("x.npy[0:1"), HasSubstr("ends neither"));
  EXPECT_THAT(parse("x.npy[0]"), HasSubstr("ends neither"));
  EXPECT_THAT(parse("x.npy[a:b]"), HasSubstr("the row \"a\""));
  EXPECT_THAT(parse("x.npy[0:9223372036854775808]"), HasSubstr("is not a whole number"));
}

TEST(FilesError, Rows) {
  const test::TemporaryFolder folder;
  const std::string npy = folder.path("x.npy");
  const std::string safetensors = folder.path("x.safetensors");
  write_npy(npy, TensorData::zeros(DTypeKind::f32, {2}));
  write_safetensors(safetensors, {{"w.g", TensorData::zeros(DTypeKind::f32, {2})},
                                  {"t", TensorData::zeros(DTypeKind::f32, {})}});
  const auto read = [](const std::string& text) {
    return user_error_of([&] { read_tensor(parse_tensor_spec(text), "x"); });
  };
  EXPECT_THAT(read(npy + "[0:3]"), AllOf(StartsWith(npy), HasSubstr("has 2 rows")));
  EXPECT_THAT(read(npy + "[3:]"), HasSubstr("has 2 rows"));
  EXPECT_THAT(read(safetensors + ":w.g[0:3]"),
              AllOf(StartsWith(safetensors), HasSubstr("\"w.g\" has 2 rows")));
  EXPECT_THAT(read(safetensors + ":w.g[3:]"), HasSubstr("has 2 rows"));
  EXPECT_THAT(read(safetensors + ":t[:]"), HasSubstr("rows need at least one dim"));
  EXPECT_THAT(read(safetensors), HasSubstr("has no tensor \"x\"; the file holds \"t\", \"w.g\""));
}

TEST(FilesError, Values) {
  TensorData i32 = TensorData::zeros(DTypeKind::i32, {1});
  TensorData flag = TensorData::zeros(DTypeKind::boolean, {1});
  EXPECT_THAT(user_error_of([&] { i32.set_value(0, 1.5); }),
              HasSubstr("1.5 cannot be stored as i32"));
  EXPECT_THAT(user_error_of([&] { i32.set_value(0, 0x1p31); }), HasSubstr("as i32"));
  EXPECT_THAT(user_error_of([&] { i32.set_value(0, 0x1p63); }), HasSubstr("as i32"));
  EXPECT_THAT(user_error_of([&] { flag.set_integer(0, 2); }), HasSubstr("2 cannot be stored"));
  EXPECT_THAT(user_error_of([&] { TensorData::zeros(DTypeKind::f32, {-1}); }),
              HasSubstr("a tensor f32[-1] is too large"));
}

}  // namespace
}  // namespace coconet
