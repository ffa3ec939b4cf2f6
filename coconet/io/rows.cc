#include "coconet/io/rows.h"

#include <fmt/format.h>

#include "coconet/base/error.h"

namespace coconet {

std::vector<std::int64_t> shape_of_rows(std::vector<std::int64_t> shape, RowRange rows,
                                        const std::string& label) {
  if (shape.empty()) {
    throw UserError(ErrorKind::data,
                    fmt::format("{} has the shape []; rows need at least one dim", label));
  }
  const std::int64_t last = rows.last.value_or(shape[0]);
  if (rows.first < 0 || rows.first > last || last > shape[0]) {
    throw UserError(ErrorKind::data,
                    fmt::format("{} has {} rows (shape {}); the rows [{}:{}] need 0 <= {} <= {} "
                                "<= {}",
                                label, shape[0], text_of_shape(shape), rows.first, last, rows.first,
                                last, shape[0]));
  }
  shape[0] = last - rows.first;
  return shape;
}

TensorData rows_of(const TensorData& tensor, RowRange rows, const std::string& label) {
  TensorData out = TensorData::zeros(tensor.dtype, shape_of_rows(tensor.shape, rows, label));
  const std::vector<std::int64_t> before = shape_of_rows(tensor.shape, {0, rows.first}, label);
  const auto begin = tensor.bytes.begin() + *byte_count(tensor.dtype, before);
  out.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(out.bytes.size()));
  return out;
}

}  // namespace coconet
