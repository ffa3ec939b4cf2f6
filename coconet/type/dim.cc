#include "coconet/type/dim.h"

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet {

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

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_one()) return b;
  if (b.is_one()) return a;
  check(!a.blocks_ && !b.blocks_, "a number of blocks is not multiplied");
  Dim out;
  out.coefficient_ = checked_product(a.coefficient_, b.coefficient_);
  out.names_ = a.names_;
  out.names_.insert(out.names_.end(), b.names_.begin(), b.names_.end());
  std::sort(out.names_.begin(), out.names_.end());
  return out;
}

std::int64_t Dim::bind(const Sizes& sizes) const {
  std::int64_t size = coefficient_;
  for (const std::string& name : names_) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) {
      throw UserError(ErrorKind::data, "dim " + name + " has no size; give --dim " + name +
                                           "=SIZE or an input file that has it");
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
  return blocks_ ? "blocks(" + out + ")" : out;
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
