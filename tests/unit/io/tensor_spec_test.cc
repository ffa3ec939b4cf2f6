#include "coconet/io/tensor_spec.h"

#include <gtest/gtest.h>

#include "coconet/io/npy.h"
#include "coconet/io/safetensors.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

TEST(TensorSpec, Parses) {
  EXPECT_EQ(parse_tensor_spec("a.npy"), (TensorSpec{"a.npy", {}, {}}));
  EXPECT_EQ(parse_tensor_spec("a.npy[1:3]"), (TensorSpec{"a.npy", {}, RowRange{1, 3}}));
  EXPECT_EQ(parse_tensor_spec("d/a.safetensors"), (TensorSpec{"d/a.safetensors", {}, {}}));
  EXPECT_EQ(parse_tensor_spec("a.safetensors[:2]"),
            (TensorSpec{"a.safetensors", {}, RowRange{0, 2}}));
  EXPECT_EQ(parse_tensor_spec("d.x/a.safetensors:w.g[0:2]"),
            (TensorSpec{"d.x/a.safetensors", "w.g", RowRange{0, 2}}));
  EXPECT_EQ(parse_tensor_spec("a.safetensors:w[2:]"),
            (TensorSpec{"a.safetensors", "w", RowRange{2, {}}}));
}

TEST(TensorSpec, NamesAndPathsMayHoldColonsAndBrackets) {
  EXPECT_EQ(parse_tensor_spec("a.safetensors:layer[0]"),
            (TensorSpec{"a.safetensors", "layer[0]", {}}));
  EXPECT_EQ(parse_tensor_spec("a.safetensors:m:w[0][1:2]"),
            (TensorSpec{"a.safetensors", "m:w[0]", RowRange{1, 2}}));
  EXPECT_EQ(parse_tensor_spec("host:x/a[1].npy"), (TensorSpec{"host:x/a[1].npy", {}, {}}));
}

TEST(TensorSpec, ReadsRows) {
  const test::TemporaryFolder folder;
  TensorData tensor = TensorData::zeros(DTypeKind::i32, {4, 2});
  for (int i = 0; i < 8; ++i) tensor.set_value(i, i);
  write_npy(folder.path("t.npy"), tensor);
  write_safetensors(folder.path("t.safetensors"), {{"w.g", tensor}});
  for (const std::string text : {"t.npy", "t.safetensors:w.g", "t.safetensors"}) {
    const auto read = [&](const std::string& rows) {
      return read_tensor(parse_tensor_spec(folder.path(text + rows)), "w.g");
    };
    EXPECT_EQ(read(""), tensor);
    EXPECT_EQ(read("[0:4]"), tensor);
    EXPECT_EQ(read("[:]"), tensor);
    EXPECT_EQ(read("[1:3]").shape, (std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(read("[1:3]").value(0), 2);
    EXPECT_EQ(read("[3:]").value(1), 7);
    EXPECT_EQ(read("[4:4]").shape, (std::vector<std::int64_t>{0, 2}));
  }
}

}  // namespace
}  // namespace coconet
