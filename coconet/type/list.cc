#include "coconet/type/list.h"

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet {

std::string list_index(std::string_view dim) {
  if (dim.size() < 3 || dim[dim.size() - 2] != '_') return "";
  const char last = dim.back();
  return last >= 'a' && last <= 'z' ? std::string(1, last) : "";
}

std::string list_index(const Dim& dim) {
  if (dim.is_members()) return dim.names()[0];
  for (const std::string& name : dim.names()) {
    if (!list_index(name).empty()) return list_index(name);
  }
  return "";
}

ListBlocks::ListBlocks(const Dim& elements, const Sizes& sizes) {
  const std::int64_t members = sizes.members(list_index(elements));
  first_.push_back(0);
  for (std::int64_t member = 0; member < members; ++member) {
    std::int64_t count = elements.coefficient();
    for (const std::string& name : elements.names()) {
      const auto list = sizes.lists.find(name);
      count = checked_product(
          count, list != sizes.lists.end() ? list->second[member] : Dim::named(name).bind(sizes));
    }
    elements_.push_back(count);
    first_.push_back(first_.back() + Dim::blocks(Dim(count)).bind(sizes));
  }
}

std::int64_t ListBlocks::member_of(std::int64_t block) const {
  check(block >= 0 && block < blocks(), "a block of the list");
  return std::upper_bound(first_.begin(), first_.end(), block) - first_.begin() - 1;
}

std::int64_t ListBlocks::valid(std::int64_t block) const {
  const std::int64_t member = member_of(block);
  return std::min(kBlock, elements_[member] - (block - first_[member]) * kBlock);
}

}  // namespace coconet
