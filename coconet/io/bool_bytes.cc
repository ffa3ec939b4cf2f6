#include "coconet/io/bool_bytes.h"

#include <fmt/format.h>

#include "coconet/base/error.h"

namespace coconet {

void check_bool_bytes(std::span<const std::byte> bytes, const std::string& file,
                      std::uint64_t offset) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int value = std::to_integer<int>(bytes[i]);
    if (value > 1) {
      throw UserError(ErrorKind::data, fmt::format("{}: byte {}, element {} of a bool tensor, is "
                                                   "{}; a bool is 0 or 1",
                                                   file, offset + i, i, value));
    }
  }
}

}  // namespace coconet
