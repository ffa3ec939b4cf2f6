#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coconet/io/safetensors.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

using test::bytes_of;
using test::user_error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string file_of(const std::string& json, std::size_t data_bytes) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> 8 * i & 0xff);
  return out + json + std::string(data_bytes, '\0');
}

std::string error_of_file(const std::string& file) {
  const std::string message =
      user_error_of([&] { SafetensorsFile(bytes_of(file), "x.safetensors"); });
  EXPECT_THAT(message, StartsWith("x.safetensors: "));
  return message;
}

std::string error_of(const std::string& json, std::size_t data_bytes = 0) {
  return error_of_file(file_of(json, data_bytes));
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

TEST(SafetensorsError, Length) {
  EXPECT_THAT(error_of_file(""), HasSubstr("has 0 bytes"));
  EXPECT_THAT(error_of_file("1234567"), HasSubstr("has 7 bytes"));
  EXPECT_THAT(error_of_file(std::string(8, '\0')), HasSubstr("'{' is needed"));
  EXPECT_THAT(error_of_file(std::string("\3\0\0\0\0\0\0\0{}", 10)),
              HasSubstr("a length of 3 bytes, but only 2 follow byte 8"));
  EXPECT_THAT(error_of_file(std::string(8, '\xff') + "{}"),
              HasSubstr("a length of 18446744073709551615 bytes"));
}

TEST(SafetensorsError, Json) {
  EXPECT_THAT(error_of("[]"), HasSubstr("begins with \"[]\" at byte 8"));
  EXPECT_THAT(error_of(" {}"), HasSubstr("'{' is needed"));
  EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON at byte 9"));
  EXPECT_THAT(error_of("{} x"), HasSubstr("not valid JSON at byte 11"));
  EXPECT_THAT(error_of("{\"a\": 1e999}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{\"\xff\": 1}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(R"({"a":[[[[1]]]]})"), HasSubstr("nests deeper"));
  EXPECT_THAT(error_of(R"({"a":)" + std::string(100000, '[')), HasSubstr("nests deeper"));
}

TEST(SafetensorsError, Duplicates) {
  const std::string a = R"("a":)" + entry(R"("F16")", "[1]", "[0,2]");
  EXPECT_THAT(error_of("{" + a + "," + a + "}", 2), HasSubstr("has the name \"a\" twice"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F16","dtype":"F16"}})"),
              HasSubstr("has the key \"dtype\" twice"));
}

TEST(SafetensorsError, Keys) {
  EXPECT_THAT(error_of(R"({"a":1})"), HasSubstr("\"a\" is 1; dtype, shape and data_offsets"));
  EXPECT_THAT(error_of(R"({"a":{}})"), HasSubstr("has no dtype"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F16","shape":[]}})"), HasSubstr("has no data_offsets"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F16","shape":[],"data_offsets":[0,2],"stride":1}})"),
              HasSubstr("has the unknown key \"stride\""));
  EXPECT_THAT(error_of(R"({"__metadata__":[]})"), HasSubstr("__metadata__ is []"));
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":1}})"),
              HasSubstr("__metadata__ \"a\" is 1; a string"));
}

TEST(SafetensorsError, ShapesAndDtypes) {
  const auto with = [](const std::string& dtype, const std::string& shape, int bytes) {
    const std::string offsets = "[0," + std::to_string(bytes) + "]";
    return error_of(R"({"a":)" + entry(dtype, shape, offsets) + "}",
                    static_cast<std::size_t>(bytes));
  };
  EXPECT_THAT(with("1", "[]", 0), HasSubstr("has the dtype 1; a string"));
  EXPECT_THAT(with(R"("F32")", "3", 12), HasSubstr("has the shape 3; an array"));
  EXPECT_THAT(with(R"("F32")", "[-1]", 0), HasSubstr("has the dim -1"));
  EXPECT_THAT(with(R"("F32")", "[1.0]", 4), HasSubstr("has the dim 1.0"));
  EXPECT_THAT(with(R"("F32")", "[true]", 4), HasSubstr("has the dim true"));
  EXPECT_THAT(with(R"("F32")", "[9223372036854775808]", 4), HasSubstr("has the dim 92233720"));
  EXPECT_THAT(with(R"("F32")", "[9223372036854775807]", 4), HasSubstr("more than 2^63 - 1 bytes"));
  EXPECT_THAT(with(R"("F32")", "[4294967296,4294967296]", 0), HasSubstr("more than 2^63 - 1"));
  EXPECT_THAT(with(R"("F32")", "[2,3]", 12),
              HasSubstr("is F32[2, 3] and needs 24 bytes, but its data_offsets give it 12"));
  EXPECT_THAT(with(R"("U8")", "[3]", 4), HasSubstr("is U8[3] and needs 3 bytes"));
  EXPECT_THAT(with(R"("F32")", "[]", 0), HasSubstr("needs 4 bytes"));
}

TEST(SafetensorsError, Offsets) {
  const auto one = [](const std::string& offsets) {
    return error_of(R"({"a":)" + entry(R"("F16")", "[2]", offsets) + "}", 4);
  };
  EXPECT_THAT(one("[0]"), HasSubstr("data_offsets [0]; [begin, end] is needed"));
  EXPECT_THAT(one("[0,2,4]"), HasSubstr("[begin, end] is needed"));
  EXPECT_THAT(one("[0,-4]"), HasSubstr("[begin, end] is needed"));
  EXPECT_THAT(one("{}"), HasSubstr("[begin, end] is needed"));
  EXPECT_THAT(one("[4,0]"), HasSubstr("begin <= end <= 4"));
  EXPECT_THAT(one("[4,8]"), HasSubstr("is the file truncated?"));
  EXPECT_THAT(one("[0,18446744073709551615]"), HasSubstr("begin <= end <= 4"));
}

TEST(SafetensorsError, Cover) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes) {
    return error_of(
        R"({"a":)" + entry(R"("F16")", "[2]", a) + R"(,"b":)" + entry(R"("F16")", "[2]", b) + "}",
        bytes);
  };
  EXPECT_THAT(two("[0,4]", "[2,6]", 6), HasSubstr("inside \"a\", which ends at byte"));
  EXPECT_THAT(two("[0,4]", "[0,4]", 4), HasSubstr("may not overlap"));
  EXPECT_THAT(two("[0,4]", "[5,9]", 9), HasSubstr("belong to no tensor"));
  EXPECT_THAT(two("[5,9]", "[1,5]", 9), HasSubstr("belong to no tensor"));
  EXPECT_THAT(two("[0,4]", "[4,8]", 9), HasSubstr("has 1 extra bytes"));
  EXPECT_THAT(error_of("{}", 3), HasSubstr("has 3 extra bytes"));
}

TEST(SafetensorsError, NamesAreShownEscaped) {
  const std::string file = file_of(R"({"a\u0000\n":)" + entry(R"("U8")", "[1]", "[0,1]") + "}", 1);
  const SafetensorsFile tensors(bytes_of(file), "x.safetensors");
  EXPECT_THAT(user_error_of([&] { tensors.read("b"); }), HasSubstr(R"(the file holds "a\x00\n")"));
  EXPECT_THAT(error_of(R"({"a\u0000":1})"), HasSubstr(R"(the tensor "a\x00" is 1)"));
}

TEST(SafetensorsError, Reading) {
  const std::string file = file_of(R"({"a":)" + entry(R"("U8")", "[2]", "[0,2]") + R"(,"b":)" +
                                       entry(R"("BOOL")", "[2,1]", "[2,4]") + "}",
                                   3) +
                           "\2";
  const SafetensorsFile tensors(bytes_of(file), "x.safetensors");
  const auto read = [&](const char* name) { return user_error_of([&] { tensors.read(name); }); };
  EXPECT_THAT(read("a"), AllOf(HasSubstr("\"a\" has the dtype \"U8\""), HasSubstr("BF16")));
  EXPECT_THAT(read("b"), HasSubstr("element 1 of a bool tensor, is 2"));
  EXPECT_THAT(read("c"), HasSubstr("has no tensor \"c\"; the file holds \"a\", \"b\""));
  EXPECT_THAT(read(""), HasSubstr("has no tensor \"\""));
  const auto rows = [&](const char* name, std::int64_t first, std::int64_t last) {
    return user_error_of([&] { tensors.read_rows(name, first, last); });
  };
  EXPECT_THAT(rows("b", 1, 3),
              HasSubstr("x.safetensors: the tensor \"b\" has 2 rows (shape [2, 1])"));
  EXPECT_THAT(rows("b", 2, 1), HasSubstr("the rows [2:1] need 0 <= 2 <= 1 <= 2"));
  EXPECT_THAT(rows("b", -1, 1), HasSubstr("[-1:1]"));
  EXPECT_THAT(rows("a", 0, 1), HasSubstr("has the dtype \"U8\""));
}

TEST(SafetensorsError, Writing) {
  const test::TemporaryFolder folder;
  const TensorData tensor = TensorData::zeros(DTypeKind::f32, {1});
  const std::string path = folder.path("x.safetensors");
  EXPECT_THAT(user_error_of([&] {
                write_safetensors(path, {{"__metadata__", tensor}});
              }),
              HasSubstr("cannot be named __metadata__"));
  EXPECT_THAT(user_error_of([&] {
                write_safetensors(path, {{"\xff", tensor}});
              }),
              AllOf(StartsWith(path), HasSubstr("UTF-8 is needed")));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace coconet
