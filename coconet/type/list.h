// Lists of tensors: which dims have a size for each member, and where the members stand.
//
// A list is stored packed: member k takes whole blocks of kBlock elements, ceil(n_k / kBlock) of
// them, one member after the other. So the list is one flat tensor of Dim::packed(n) elements whose
// blocks each belong to one member; what a member's last block has beyond its elements, and has
// values, nothing reads. A list of scalars is a dense vector of Dim::members(index) elements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coconet/type/dim.h"

namespace coconet {

// What a dim of lists is numbered by: the one small letter behind an underscore that ends its name,
// as i of N_i; "" for other names.
std::string list_index(std::string_view dim);
// Of a product of dims, "" if none has one. Requires: all that have one have the same.
std::string list_index(const Dim& dim);

// The members of a list of bound sizes and their blocks.
class ListBlocks {
 public:
  // `elements`: of a member. UserError as Dim::bind.
  ListBlocks(const Dim& elements, const Sizes& sizes);

  std::int64_t members() const { return static_cast<std::int64_t>(elements_.size()); }
  std::int64_t blocks() const { return first_.back(); }
  const std::vector<std::int64_t>& elements() const { return elements_; }  // by member
  const std::vector<std::int64_t>& first_block() const { return first_; }  // by member; the end
  std::int64_t member_of(std::int64_t block) const;
  // How many elements of its member a block holds.
  std::int64_t valid(std::int64_t block) const;

 private:
  std::vector<std::int64_t> elements_, first_;
};

}  // namespace coconet
