#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coconet/io/npy.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

using test::bytes_of;
using test::user_error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string file_of(const std::string& header, const std::string& elements) {
  std::string out("\x93NUMPY\1\0", 8);
  out += static_cast<char>(header.size());
  out += static_cast<char>(header.size() >> 8);
  return out + header + elements;
}

std::string error_of(const std::string& file) {
  const std::string message = user_error_of([&] { read_npy(bytes_of(file), "x.npy"); });
  EXPECT_THAT(message, StartsWith("x.npy: "));
  return message;
}

std::string header_error_of(const std::string& header) { return error_of(file_of(header, "")); }

std::string with_shape(const std::string& shape) {
  return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
}

TEST(NpyError, FixedPart) {
  EXPECT_THAT(error_of(""), HasSubstr("(0 bytes in all); a .npy file begins with \"\\x93NUMPY\""));
  EXPECT_THAT(error_of("PK\3\4 a zip, as .npz is"), HasSubstr("begins with \"PK"));
  EXPECT_THAT(error_of("\x93NUMPZ12345678"), HasSubstr("begins with"));
  EXPECT_THAT(error_of("\x93NUMPY\1"), HasSubstr("ends at byte 7; the fixed part"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\2\0\0\0", 10)),
              HasSubstr("version 2.0 has 12 bytes"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\4\0\0\0", 10)), HasSubstr("version 4.0"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\0\0\0\0", 10)), HasSubstr("version 0.0"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\1\1\0\0", 10)), HasSubstr("version 1.1"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\1\0\xff\xff{}", 12)),
              HasSubstr("ends at byte 12, inside its header, which takes bytes 10 to 65545"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14)),
              HasSubstr("bytes 12 to 4294967307"));
}

TEST(NpyError, HeaderText) {
  EXPECT_THAT(header_error_of(""), HasSubstr("bad .npy header at byte 10: found its end"));
  EXPECT_THAT(header_error_of("['descr']"), HasSubstr("'{' is needed"));
  EXPECT_THAT(header_error_of("{}"), HasSubstr("'shape' are all needed"));
  EXPECT_THAT(header_error_of("{'descr': '<f4', 'fortran_order': False}"),
              HasSubstr("'shape' are all needed"));
  EXPECT_THAT(header_error_of("{'descr': '<f4', 'descr': '<f4'}"),
              AllOf(HasSubstr("at byte 27"), HasSubstr("each key may stand once")));
  EXPECT_THAT(header_error_of("{'dtype': '<f4'}"), HasSubstr("the keys are 'descr'"));
  EXPECT_THAT(header_error_of("{'descr': '<f4' 'shape': ()}"), HasSubstr("',' is needed"));
  EXPECT_THAT(header_error_of("{'descr' '<f4'}"), HasSubstr("':' is needed"));
  EXPECT_THAT(header_error_of("{'descr': f4}"), HasSubstr("a quoted string is needed"));
  EXPECT_THAT(header_error_of("{'descr': '<f4}"), HasSubstr("is not closed"));
  EXPECT_THAT(header_error_of("{'descr': '<\\x66'}"), HasSubstr("no escapes"));
  EXPECT_THAT(header_error_of("{'fortran_order': 0}"), HasSubstr("True or False"));
  EXPECT_THAT(header_error_of(with_shape("()") + " x"), HasSubstr("only spaces are allowed"));
  EXPECT_THAT(header_error_of(with_shape("()").substr(0, 30)), HasSubstr("found"));
}

TEST(NpyError, Shapes) {
  EXPECT_THAT(header_error_of(with_shape("(3)")), HasSubstr("written (n,)"));
  EXPECT_THAT(header_error_of(with_shape("[3]")), HasSubstr("'(' is needed"));
  EXPECT_THAT(header_error_of(with_shape("(3 4)")), HasSubstr("',' or ')' is needed"));
  EXPECT_THAT(header_error_of(with_shape("(,)")), HasSubstr("a dim, a whole number"));
  EXPECT_THAT(header_error_of(with_shape("(-1,)")), HasSubstr("a dim, a whole number"));
  EXPECT_THAT(header_error_of(with_shape("(02, 3)")), HasSubstr("a dim without leading zeros"));
  EXPECT_THAT(header_error_of(with_shape("(00,)")), HasSubstr("a dim without leading zeros"));
  EXPECT_THAT(header_error_of(with_shape("(3.0,)")), HasSubstr("',' or ')' is needed"));
  EXPECT_THAT(header_error_of(with_shape("(9223372036854775808,)")), HasSubstr("at most 2^63 - 1"));
  EXPECT_THAT(header_error_of(with_shape("(9223372036854775807,)")),
              HasSubstr("more than 2^63 - 1 bytes"));
  EXPECT_THAT(header_error_of(with_shape("(4294967296, 4294967296)")),
              HasSubstr("more than 2^63 - 1 bytes"));
}

// The size is compared before anything of that size is allocated.
TEST(NpyError, Size) {
  const std::string header = with_shape("(2, 3)");
  EXPECT_THAT(error_of(file_of(header, std::string(23, 'x'))),
              AllOf(HasSubstr("holds 23 bytes of elements, from byte "),
                    HasSubstr("f32[2, 3] needs 24 (it is truncated)")));
  EXPECT_THAT(error_of(file_of(header, std::string(25, 'x'))),
              HasSubstr("needs 24 (there are extra bytes)"));
  EXPECT_THAT(error_of(file_of(with_shape("(0, 3)"), "x")), HasSubstr("f32[0, 3] needs 0"));
  EXPECT_THAT(error_of(file_of(with_shape("(1152921504606846976,)"), "x")),
              HasSubstr("holds 1 bytes of elements"));
}

TEST(NpyError, Dtypes) {
  const auto with_dtype = [](const std::string& descr) {
    return "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }";
  };
  for (const std::string descr :
       {"<u4", "<c8", "|u1", "<U3", "|O", "|f4", "=f4", ">b1", "<f", ""}) {
    EXPECT_THAT(header_error_of(with_dtype("'" + descr + "'")),
                HasSubstr("holds the dtype \"" + descr + "\"; f2, f4, f8, i4, i8 and b1 are read"));
  }
  EXPECT_THAT(header_error_of(with_dtype("'<V2'")), HasSubstr("use a .safetensors file"));
  EXPECT_THAT(header_error_of(with_dtype("[('a', '<f4')]")), HasSubstr("a structured dtype"));
  EXPECT_THAT(error_of(file_of(with_dtype("'|b1'"), "\2")),
              HasSubstr("element 0 of a bool tensor, is 2; a bool is 0 or 1"));
}

TEST(NpyError, HasNoBfloat) {
  const test::TemporaryFolder folder;
  const TensorData tensor = TensorData::zeros(DTypeKind::bf16, {2});
  const std::string path = folder.path("x.npy");
  EXPECT_THAT(user_error_of([&] { write_npy(path, tensor); }),
              AllOf(StartsWith(path), HasSubstr("has no bf16; write a .safetensors file")));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace coconet
