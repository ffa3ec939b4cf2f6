// Sizes of a list's members for people to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coconet {

// "5,1027"; of many: "396 members, 335707968 in all".
std::string members_text(const std::vector<std::int64_t>& sizes);

}  // namespace coconet
