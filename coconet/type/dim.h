// Symbolic dimensions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace coconet {

// Dim name -> size. A list's dim, as N_i, has one size for each member instead.
// A mesh's axes are dims too, of what is stacked over their ranks.
struct Sizes : std::map<std::string, std::int64_t> {
  using map::map;
  std::map<std::string, std::vector<std::int64_t>> lists;

  // Of lists over `index`: what the dims NAME_index have as many sizes of. UserError if none is
  // given or they disagree.
  std::int64_t members(const std::string& index) const;
  friend bool operator==(const Sizes&, const Sizes&) = default;
};

inline constexpr std::int64_t kBlock = 1024;  // elements of a block (docs/numerics.md)

// A product of a literal and names (`4*H`), normalised so that equal dims compare equal; the
// number of blocks of such a product; or one of the dims of lists (type/list.h).
class Dim {
 public:
  Dim(std::int64_t literal = 1);  // NOLINT: a literal is a dim
  static Dim named(std::string name);
  // ceil(elements / 1024): the leading dim of block sums.
  static Dim blocks(const Dim& elements);
  // Of a list whose members have `elements` elements: each takes whole blocks, one after the other.
  static Dim packed(const Dim& elements);
  // The number of members of lists over `index`.
  static Dim members(std::string index);

  bool is_literal() const { return names_.empty() && !blocks_; }
  bool is_one() const { return is_literal() && coefficient_ == 1; }
  bool is_blocks() const { return blocks_; }
  bool is_packed() const { return list_ == List::packed; }  // or the blocks of that
  bool is_members() const { return list_ == List::members; }
  Dim elements() const;  // what blocks or packed elements are of
  std::int64_t coefficient() const { return coefficient_; }
  const std::vector<std::string>& names() const { return names_; }  // of members: their index

  // Requires: both are products.
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim&, const Dim&) = default;

  // The size under `sizes`. UserError for a name without a size or a size beyond 63 bits.
  std::int64_t bind(const Sizes& sizes) const;
  std::string text() const;  // "4*H", "blocks(N)", "packed(N_i)", "members(i)"

 private:
  std::int64_t coefficient_ = 1;
  std::vector<std::string> names_;  // sorted
  bool blocks_ = false;
  enum class List { none, packed, members } list_ = List::none;
};

using Shape = std::vector<Dim>;

// What to do about a dim without a size, by the command line or C++: `sizes` are "N=SIZE".
std::string how_to_give(const std::string& sizes);
std::string text_of(const Shape& shape);  // "[B,S,H]"
Dim product_of(const Shape& shape);
std::vector<std::int64_t> bind(const Shape& shape, const Sizes& sizes);
// a * b, or UserError if it exceeds 63 bits.
std::int64_t checked_product(std::int64_t a, std::int64_t b);

}  // namespace coconet
