#include "coconet/type/dim.h"

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/type/list.h"

namespace coconet {
namespace {

constexpr std::size_t kMostNames = 64;  // in a product: more of 2 and beyond exceed 63 bits

}  // namespace

std::int64_t Sizes::members(const std::string& index) const {
  const std::pair<const std::string, std::vector<std::int64_t>>* first = nullptr;
  for (const auto& list : lists) {
    if (list_index(list.first) != index) continue;
    if (!first) first = &list;
    if (list.second.size() == first->second.size()) continue;
    throw UserError(ErrorKind::data, "lists over " + index + " have one number of members; found " +
                                         std::to_string(first->second.size()) + " sizes of " +
                                         first->first + " and " +
                                         std::to_string(list.second.size()) + " of " + list.first);
  }
  if (first) return static_cast<std::int64_t>(first->second.size());
  throw UserError(ErrorKind::data, "no dim of index " + index + " has its sizes; " +
                                       how_to_give("N_" + index + "=SIZE,SIZE,..."));
}

Dim::Dim(std::int64_t literal) : coefficient_(literal) {
  check(literal >= 0, "a dim is not negative");
}

Dim Dim::named(std::string name) {
  Dim dim;
  dim.names_.push_back(std::move(name));
  return dim;
}

Dim Dim::blocks(const Dim& elements) {
  check(!elements.blocks_, "blocks are counted of elements");
  Dim dim = elements;
  dim.blocks_ = true;
  return dim;
}

Dim Dim::packed(const Dim& elements) {
  check(!elements.blocks_ && elements.list_ == List::none, "members have elements");
  Dim dim = elements;
  dim.list_ = List::packed;
  return dim;
}

Dim Dim::members(std::string index) {
  Dim dim = named(std::move(index));
  dim.list_ = List::members;
  return dim;
}

Dim Dim::elements() const {
  Dim dim = *this;
  dim.blocks_ = false;
  if (dim.is_packed()) dim.list_ = List::none;
  return dim;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_one()) return b;
  if (b.is_one()) return a;
  check(!a.blocks_ && !b.blocks_ && a.list_ == Dim::List::none && b.list_ == Dim::List::none,
        "a number of blocks, or a list's, is not multiplied");
  Dim out;
  if (const std::size_t names = a.names_.size() + b.names_.size(); names > kMostNames) {
    throw UserError(ErrorKind::type, "a dim is a product of " + std::to_string(names) +
                                         " names; at most " + std::to_string(kMostNames) +
                                         " are supported");
  }
  out.coefficient_ = checked_product(a.coefficient_, b.coefficient_);
  out.names_ = a.names_;
  out.names_.insert(out.names_.end(), b.names_.begin(), b.names_.end());
  std::sort(out.names_.begin(), out.names_.end());
  return out;
}

std::int64_t Dim::bind(const Sizes& sizes) const {
  if (is_members()) return sizes.members(names_[0]);
  if (is_packed()) {
    const std::int64_t blocks = ListBlocks(elements(), sizes).blocks();
    return blocks_ ? blocks : checked_product(blocks, kBlock);
  }
  std::int64_t size = coefficient_;
  for (const std::string& name : names_) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) {
      throw UserError(ErrorKind::data,
                      "dim " + name + " has no size; " + how_to_give(name + "=SIZE"));
    }
    size = checked_product(size, found->second);
  }
  return blocks_ ? size / kBlock + (size % kBlock != 0) : size;
}

std::string Dim::text() const {
  std::string out;
  if (coefficient_ != 1 || names_.empty()) out = std::to_string(coefficient_);
  for (const std::string& name : names_) {
    if (!out.empty()) out += '*';
    out += name;
  }
  if (is_packed()) out = "packed(" + out + ")";
  if (is_members()) out = "members(" + out + ")";
  return blocks_ ? "blocks(" + out + ")" : out;
}

std::string how_to_give(const std::string& sizes) {
  return "give --dim " + sizes +
         " or input files that say it; in C++, Setting::sizes; in "
         "Python, sizes";
}

std::string text_of(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ',';
    out += shape[i].text();
  }
  return out + "]";
}

Dim product_of(const Shape& shape) {
  Dim product;
  for (const Dim& dim : shape) product = product * dim;
  return product;
}

std::vector<std::int64_t> bind(const Shape& shape, const Sizes& sizes) {
  std::vector<std::int64_t> out;
  for (const Dim& dim : shape) out.push_back(dim.bind(sizes));
  return out;
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw UserError(ErrorKind::data, "a size of " + std::to_string(a) + " * " + std::to_string(b) +
                                         " does not fit in 63 bits");
  }
  return product;
}

}  // namespace coconet
