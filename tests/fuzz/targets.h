// Fuzz targets: readers of what others write. Any bytes must give a value or a UserError; what is
// accepted must survive being written and read again. Anything else is a fault, and throws.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace coconet::fuzz {

using Bytes = std::span<const std::byte>;

// A text of the language: programs print and parse back equal, schedules too, and schedules apply
// or are refused.
void coco(Bytes bytes);
// A .npy file: what is read is written and read again equal.
void npy(Bytes bytes);
// A .safetensors file: the same, and each tensor is readable or refused.
void safetensors(Bytes bytes);

struct Target {
  std::string_view name;  // its corpus is tests/fuzz/corpus/<name>/
  void (*run)(Bytes bytes);
  std::span<const std::string_view> words;  // that mutations put in
};
std::span<const Target> targets();
// Requires: there is one of the name.
const Target& target(std::string_view name);

}  // namespace coconet::fuzz
