// A 128-bit hash of content, for names in caches and for finding damage. Not against forgery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coconet::runtime {

// FNV-1a over the bytes of all texts added and their lengths.
class ContentHash {
 public:
  ContentHash& add(std::string_view text);
  std::string hex() const;  // 32 digits

 private:
  __extension__ using Word = unsigned __int128;
  Word value_ = (Word{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
};

}  // namespace coconet::runtime
