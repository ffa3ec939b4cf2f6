// The header text of a .npy file: a Python dict literal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coconet {

struct NpyHeader {
  std::string descr;  // as written, "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Accepts exactly the keys descr, fortran_order and shape, each once, in any order, followed by
// white space. Throws UserError (data) naming `file` and the byte (`offset` is that of text[0]).
NpyHeader parse_npy_header(std::string_view text, const std::string& file, std::uint64_t offset);

// The dict literal, without padding.
std::string print_npy_header(const NpyHeader& header);

}  // namespace coconet
