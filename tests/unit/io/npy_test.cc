#include "coconet/io/npy.h"

#include <gtest/gtest.h>

#include <string>

#include "coconet/base/error.h"
#include "coconet/io/npy_header.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

using test::bytes_of;

std::string file_of(char version, std::string header, const std::string& elements) {
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> 8 * i);
  return out + header + elements;
}

TensorData counted(DTypeKind dtype, std::vector<std::int64_t> shape) {
  TensorData tensor = TensorData::zeros(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.set_value(i, static_cast<double>(dtype == DTypeKind::boolean ? i % 2 : i - 3));
  }
  return tensor;
}

TEST(Npy, RoundTripsEveryDtypeAndShape) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("t.npy");
  for (const DTypeKind dtype : {DTypeKind::f16, DTypeKind::f32, DTypeKind::f64, DTypeKind::i32,
                                DTypeKind::i64, DTypeKind::boolean}) {
    for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
             {}, {1}, {7}, {0, 3}, {3, 0}, {2, 3}, {2, 3, 4}, {1, 1, 1, 5}}) {
      const TensorData tensor = counted(dtype, shape);
      write_npy(path, tensor);
      EXPECT_EQ(read_npy(path), tensor) << name_of(dtype) << text_of_shape(shape);
      EXPECT_EQ((test::read_text(path).size() - tensor.bytes.size()) % 64, 0u);
    }
  }
}

TEST(Npy, WritesWhatNumpyWrites) {
  const std::vector<std::byte> prefix = npy_prefix(counted(DTypeKind::f32, {3}), "t.npy");
  const std::string text(reinterpret_cast<const char*>(prefix.data()), prefix.size());
  std::string want = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  want += std::string(128 - 10 - 1 - want.size(), ' ') + "\n";
  EXPECT_EQ(text, file_of(1, want, ""));
}

TEST(Npy, ReadsAllVersions) {
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n";
  for (const char version : {1, 2, 3}) {
    const std::string file = file_of(version, header, std::string("\1\0\0\0\2\0\0\0", 8));
    const TensorData tensor = read_npy(bytes_of(file), "t.npy");
    EXPECT_EQ(tensor.shape, std::vector<std::int64_t>{2});
    EXPECT_EQ(tensor.value(0), 1);
    EXPECT_EQ(tensor.value(1), 2);
  }
}

TEST(Npy, ReadsKeysInAnyOrderQuotesAndOldIntegers) {
  const std::string header = R"({ "shape" : (2L, 1L) , 'fortran_order':False, "descr":'|b1'})";
  const TensorData tensor = read_npy(bytes_of(file_of(1, header, std::string("\0\1", 2))), "t.npy");
  EXPECT_EQ(tensor.dtype, DTypeKind::boolean);
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(tensor.value(1), 1);
}

TEST(Npy, TurnsFortranOrderAround) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{2, 3}, {2, 3, 4}, {5}, {}, {2, 0, 3}, {1, 4, 1}}) {
    const TensorData want = counted(DTypeKind::i32, shape);
    // The same tensor, elements laid out with the first index fastest.
    std::string elements;
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::int64_t n = 0; n < want.elements(); ++n) {
      std::int64_t flat = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
      elements.append(reinterpret_cast<const char*>(want.bytes.data()) + 4 * flat, 4);
      for (std::size_t d = 0; d < shape.size() && ++index[d] == shape[d]; ++d) index[d] = 0;
    }
    const std::string file = file_of(1, print_npy_header({"<i4", true, shape}), elements);
    EXPECT_EQ(read_npy(bytes_of(file), "t.npy"), want) << text_of_shape(shape);
  }
}

TEST(Npy, TurnsBigEndianAround) {
  const std::string header = "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }";
  const std::string file = file_of(1, header, std::string("\x3f\x80\0\0\xc0\0\0\0", 8));
  const TensorData tensor = read_npy(bytes_of(file), "t.npy");
  EXPECT_EQ(tensor.value(0), 1.0);
  EXPECT_EQ(tensor.value(1), -2.0);
}

TEST(Npy, UsesVersionTwoForLongHeaders) {
  const TensorData tensor = counted(DTypeKind::f32, std::vector<std::int64_t>(30000, 1));
  std::vector<std::byte> file = npy_prefix(tensor, "t.npy");
  EXPECT_EQ(file[6], std::byte{2});
  file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  EXPECT_EQ(read_npy(file, "t.npy"), tensor);
}

// Every byte of a file is needed: cut anywhere, it is refused; and no change of one byte of the
// header is a crash.
TEST(Npy, EveryCutIsAnErrorAndNoChangeACrash) {
  const TensorData tensor = counted(DTypeKind::f16, {3, 2});
  std::vector<std::byte> file = npy_prefix(tensor, "t.npy");
  const std::size_t header = file.size();
  file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto cut = std::span<const std::byte>(file).first(size);
    EXPECT_NE(test::user_error_of([&] { read_npy(cut, "t.npy"); }), "") << size;
  }
  for (std::size_t i = 0; i < header; ++i) {
    for (int value = 0; value < 256; ++value) {
      std::vector<std::byte> changed = file;
      changed[i] = static_cast<std::byte>(value);
      try {
        read_npy(changed, "t.npy");
      } catch (const UserError&) {
      }
    }
  }
}

}  // namespace
}  // namespace coconet
