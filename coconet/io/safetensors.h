// .safetensors files: named tensors, each readable alone.
//
//   offset 0   header length N: 8 bytes, little-endian
//          8   header: N bytes of JSON, padded with spaces:
//              {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//        8+N   the tensors' elements, little-endian, row-major; offsets count from here
//
// Dtypes F16 BF16 F32 F64 I32 I64 BOOL; others are listed, but refused when read. All failures are
// UserErrors (data) that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coconet/io/byte_source.h"
#include "coconet/io/safetensors_header.h"
#include "coconet/io/tensor_data.h"

namespace coconet {

// Opening reads and checks the header only. Const methods may run in several threads.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  // The bytes must outlive the object.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& name);

  const std::string& path() const { return source_->name(); }
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }  // by name
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string holds() const;  // "the file holds "a", "b" and 3 more"
  const SafetensorsEntry& entry(std::string_view name) const;  // the error lists the file's names
  TensorData read(std::string_view name) const;
  // Rows [first, last) of dim 0; only their bytes are read. Throws UserError (data) unless
  // 0 <= first <= last <= the size of dim 0.
  TensorData read_rows(std::string_view name, std::int64_t first, std::int64_t last) const;

 private:
  const SafetensorsEntry* find(std::string_view name) const;
  DTypeKind readable_dtype(const SafetensorsEntry& entry) const;
  TensorData read_at(const SafetensorsEntry& entry, std::uint64_t begin,
                     std::vector<std::int64_t> shape) const;

  std::unique_ptr<const ByteSource> source_;
  SafetensorsHeader header_;
};

// Writes atomically (io/write_file.h). Elements stand by falling dtype size, then by name, so that
// each is aligned to its dtype; the same input gives the same bytes.
void write_safetensors(const std::string& path, const std::map<std::string, TensorData>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace coconet
