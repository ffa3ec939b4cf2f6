// Ranges of rows: a part of dim 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coconet/io/tensor_data.h"

namespace coconet {

// Rows [first, last); last left out: to the end.
struct RowRange {
  std::int64_t first = 0;
  std::optional<std::int64_t> last;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// The shape with dim 0 cut to `rows`. Throws UserError (data), beginning with `label` (the file and
// tensor), unless there is a dim 0 and 0 <= first <= last <= its size.
std::vector<std::int64_t> shape_of_rows(std::vector<std::int64_t> shape, RowRange rows,
                                        const std::string& label);

TensorData rows_of(const TensorData& tensor, RowRange rows, const std::string& label);

}  // namespace coconet
