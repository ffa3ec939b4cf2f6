// dtype x shape x layout: what is known of a tensor before it has values.
#pragma once

#include <optional>
#include <string>

#include "coconet/type/dim.h"
#include "coconet/type/dtype.h"
#include "coconet/type/layout.h"

namespace coconet {

struct TensorType {
  DType dtype;
  Shape shape;
  Layout layout;
  // Of a list: the shape of a member; `shape` is then that of the packed whole (type/list.h).
  std::optional<Shape> list = {};

  int rank() const { return static_cast<int>(shape.size()); }  // number of dims
  bool is_scalar() const { return shape.empty(); }
  bool is_list() const { return list.has_value(); }
  bool is_scalar_list() const { return list && list->empty(); }  // one number a member
  std::string text(const Mesh& mesh) const;  // "f16[B,S,H] sliced(2)@tp", "f16[N_i] list local"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

inline constexpr int kMostDims = 8;

// A list over `index`, by default that of the dims, or i. UserError(type) unless it is one letter
// and the dims of lists in `member` are over it.
TensorType list_of(const DType& dtype, const Shape& member, const Layout& layout,
                   std::string index = "");

// UserError(type) unless there are at most kMostDims dims, every slice names dims that `type` has,
// none of a sliced range is a literal 1, all partial axes have one operation, of numbers, and roots
// are not negative.
void validate(const TensorType& type, const Mesh& mesh);

}  // namespace coconet
