#include "coconet/io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "coconet/base/error.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

const DTypeKind kAllDtypes[] = {DTypeKind::f16, DTypeKind::bf16, DTypeKind::f32,    DTypeKind::f64,
                                DTypeKind::i32, DTypeKind::i64,  DTypeKind::boolean};

TensorData counted(DTypeKind dtype, std::vector<std::int64_t> shape) {
  TensorData tensor = TensorData::zeros(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.set_value(i, static_cast<double>(dtype == DTypeKind::boolean ? i % 2 : i - 3));
  }
  return tensor;
}

TEST(Safetensors, RoundTripsEveryDtypeAndShape) {
  const test::TemporaryFolder folder;
  std::map<std::string, TensorData> tensors;
  for (const DTypeKind dtype : kAllDtypes) {
    int n = 0;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{}, {1}, {7}, {0, 3}, {3, 0}, {2, 3, 4}}) {
      tensors[std::string(name_of(dtype)) + "." + std::to_string(n++)] = counted(dtype, shape);
    }
  }
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"a \"b\"", "\xc3\xa9\n"}};
  write_safetensors(folder.path("t.safetensors"), tensors, metadata);
  const SafetensorsFile file(folder.path("t.safetensors"));
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.entries().size(), tensors.size());
  std::size_t n = 0;
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(file.entries()[n++].name, name);
    EXPECT_TRUE(file.has(name));
    EXPECT_EQ(file.read(name), tensor) << name;
    EXPECT_EQ(file.entry(name).begin % size_of(tensor.dtype), 0u) << name;
  }
  EXPECT_FALSE(file.has("f16"));
  EXPECT_FALSE(file.has("__metadata__"));
}

TEST(Safetensors, HoldsNoTensors) {
  const test::TemporaryFolder folder;
  write_safetensors(folder.path("t.safetensors"), {});
  EXPECT_EQ(test::read_text(folder.path("t.safetensors")),
            std::string("\10\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(SafetensorsFile(folder.path("t.safetensors")).entries().empty());
}

TEST(Safetensors, SameInputSameBytes) {
  const test::TemporaryFolder folder;
  const std::map<std::string, TensorData> tensors{{"b", counted(DTypeKind::f16, {3})},
                                                  {"a", counted(DTypeKind::boolean, {3})},
                                                  {"z", counted(DTypeKind::f64, {1})}};
  write_safetensors(folder.path("t"), tensors);
  write_safetensors(folder.path("u"), tensors);
  const std::string text = test::read_text(folder.path("t"));
  EXPECT_EQ(text, test::read_text(folder.path("u")));
  EXPECT_LT(text.find("\"z\""), text.find("\"b\""));  // by falling size of the dtype
  EXPECT_LT(text.find("\"b\""), text.find("\"a\""));
}

// Time that grows with the square of their number would be minutes, more than a test may take.
TEST(Safetensors, HoldsManyTensors) {
  const test::TemporaryFolder folder;
  std::map<std::string, TensorData> tensors;
  for (int i = 0; i < 100'000; ++i) {
    tensors["w." + std::to_string(i)] = TensorData::zeros(DTypeKind::f16, {1});
  }
  write_safetensors(folder.path("t.safetensors"), tensors);
  const SafetensorsFile file(folder.path("t.safetensors"));
  EXPECT_EQ(file.entries().size(), tensors.size());
  EXPECT_EQ(file.read("w.99999"), tensors["w.99999"]);
}

TEST(Safetensors, ReadsRows) {
  const test::TemporaryFolder folder;
  const TensorData tensor = counted(DTypeKind::f16, {5, 3});
  write_safetensors(folder.path("t"), {{"w", tensor}, {"x", counted(DTypeKind::f64, {3})}});
  const SafetensorsFile file(folder.path("t"));
  const TensorData rows = file.read_rows("w", 2, 4);
  EXPECT_EQ(rows.shape, (std::vector<std::int64_t>{2, 3}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(rows.value(i), tensor.value(i + 6));
  EXPECT_EQ(file.read_rows("w", 0, 5), tensor);
  EXPECT_EQ(file.read_rows("w", 5, 5).shape, (std::vector<std::int64_t>{0, 3}));
}

TEST(Safetensors, ReadsTensorsBesideUnreadableOnes) {
  const std::string json = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                           R"("b":{"dtype":"BOOL","shape":[1],"data_offsets":[3,4]},)"
                           R"("c":{"dtype":"F4","shape":[2],"data_offsets":[4,5]}})";
  std::string text(8, '\0');
  text[0] = static_cast<char>(json.size());
  text += json + std::string("\1\2\3\1\7", 5);
  const SafetensorsFile file(test::bytes_of(text), "t");
  EXPECT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entry("a").dtype, std::nullopt);
  EXPECT_EQ(file.entry("c").dtype_name, "F4");
  EXPECT_EQ(file.read("b").value(0), 1);
}

TEST(Safetensors, EveryCutIsAnErrorAndNoChangeACrash) {
  const test::TemporaryFolder folder;
  write_safetensors(folder.path("t"), {{"w", counted(DTypeKind::f16, {2, 1})}}, {{"k", "v"}});
  const std::string text = test::read_text(folder.path("t"));
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    const auto open = [&] { SafetensorsFile(test::bytes_of(cut), "t"); };
    EXPECT_NE(test::user_error_of(open), "") << size;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = text;
      changed[i] = static_cast<char>(value);
      try {
        const SafetensorsFile file(test::bytes_of(changed), "t");
        for (const SafetensorsEntry& entry : file.entries()) file.read(entry.name);
      } catch (const UserError&) {
      }
    }
  }
}

// The real tensors that the examples use: their shapes are those of examples/data/README.md.
TEST(Safetensors, ReadsTheExamplesData) {
  const SafetensorsFile attention("examples/data/attention.safetensors");
  EXPECT_EQ(attention.entries().size(), 9u);
  EXPECT_EQ(attention.entry("x").shape, (std::vector<std::int64_t>{4, 32, 384}));
  EXPECT_EQ(attention.entry("w").dtype, DTypeKind::f32);
  const TensorData want = attention.read("want_norm");
  for (std::int64_t i = 0; i < want.elements(); ++i) ASSERT_LT(std::fabs(want.value(i)), 50);
  const SafetensorsFile mlp("examples/data/mlp.safetensors");
  EXPECT_EQ(mlp.entry("w").shape, (std::vector<std::int64_t>{1536, 384}));
  const SafetensorsFile optimizer("examples/data/optimizer.safetensors");
  EXPECT_EQ(optimizer.entry("w.g").shape, (std::vector<std::int64_t>{4, 147456}));
  EXPECT_EQ(optimizer.entry("w.g").dtype, DTypeKind::f16);
  // The moment after a step from gradients of two ranks, in double, against the stored one.
  const TensorData g = optimizer.read_rows("b.g", 0, 2);
  const TensorData m = optimizer.read("b.m");
  const TensorData want_m = optimizer.read("b.want_m.2");
  for (std::int64_t i = 0; i < 384; ++i) {
    const double mean = (g.value(i) + g.value(384 + i)) / 2;
    ASSERT_NEAR(0.9 * m.value(i) + 0.1 * mean, want_m.value(i), 1e-8);
  }
}

}  // namespace
}  // namespace coconet
