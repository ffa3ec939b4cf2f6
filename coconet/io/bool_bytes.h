#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace coconet {

// Throws UserError (data) naming `file` and the first byte that is neither 0 nor 1; `offset` is
// that of bytes[0] in the file.
void check_bool_bytes(std::span<const std::byte> bytes, const std::string& file,
                      std::uint64_t offset);

}  // namespace coconet
