#include "coconet/runtime/content_hash.h"

namespace coconet::runtime {

ContentHash& ContentHash::add(std::string_view text) {
  const Word prime = (Word{1} << 88) | 0x13b;
  const auto byte = [&](unsigned char value) { value_ = (value_ ^ value) * prime; };
  for (const char c : text) byte(static_cast<unsigned char>(c));
  for (std::size_t left = text.size(), i = 0; i < 8; ++i, left >>= 8) {
    byte(static_cast<unsigned char>(left & 0xff));
  }
  return *this;
}

std::string ContentHash::hex() const {
  std::string out;
  for (int shift = 124; shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[static_cast<unsigned>(value_ >> shift) & 15];
  }
  return out;
}

}  // namespace coconet::runtime
