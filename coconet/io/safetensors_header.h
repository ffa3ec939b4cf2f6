// The header of a .safetensors file: what tensors it holds and where. Strict: a file whose header
// does not describe its bytes exactly is refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coconet/type/dtype.h"

namespace coconet {

class ByteSource;

struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;          // as written, "BF16"
  std::optional<DTypeKind> dtype;  // nothing for a dtype that has no meaning here
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // offsets in the file
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // by name
  std::map<std::string, std::string> metadata;
};

// "F16", ..., "BOOL".
std::string_view safetensors_name_of(DTypeKind dtype);

// Throws UserError (data) naming the file unless: the header lies in the file and is one JSON
// object without duplicate keys; each entry has exactly dtype, shape and data_offsets; its bytes
// are its shape times its dtype (where the dtype is known); and the entries' bytes cover all that
// follows the header, once.
SafetensorsHeader read_safetensors_header(const ByteSource& source);

// The bytes of the file before the tensors, a multiple of 8. Requires: entries stand in the order
// of their bytes, with dtype set; begin and end count from the end of the header. Throws UserError
// (data) naming `file` if a name or metadata is not UTF-8.
std::string print_safetensors_header(const std::vector<SafetensorsEntry>& entries,
                                     const std::map<std::string, std::string>& metadata,
                                     const std::string& file);

}  // namespace coconet
