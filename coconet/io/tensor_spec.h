// How a command line names a tensor in a file:
//
//   FILE.npy   FILE.npy[a:b]   FILE.safetensors   FILE.safetensors:NAME FILE.safetensors:NAME[a:b]
//
// [a:b] selects the rows a..b-1 of dim 0; either may be left out. The name is all that follows the
// first ".safetensors:", so it may hold dots, colons and brackets (but for a last [a:b]).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coconet/io/rows.h"
#include "coconet/io/tensor_data.h"

namespace coconet {

struct TensorSpec {
  std::string path;
  std::optional<std::string> name;
  std::optional<RowRange> rows;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Throws UserError (usage).
TensorSpec parse_tensor_spec(std::string_view text);

// Reads the tensor; `default_name` is the one of a .safetensors file if the spec has none. Throws
// UserError (data).
TensorData read_tensor(const TensorSpec& spec, std::string_view default_name);

}  // namespace coconet
