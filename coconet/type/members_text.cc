#include "coconet/type/members_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

namespace coconet {

std::string members_text(const std::vector<std::int64_t>& sizes) {
  constexpr std::size_t kMostShown = 8;
  if (sizes.size() <= kMostShown) return fmt::format("{}", fmt::join(sizes, ","));
  return fmt::format("{} members, {} in all", sizes.size(),
                     std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
}

}  // namespace coconet
