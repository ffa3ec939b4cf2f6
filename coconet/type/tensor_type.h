// dtype x shape x layout: what is known of a tensor before it has values.
#pragma once

#include <string>

#include "coconet/type/dim.h"
#include "coconet/type/dtype.h"
#include "coconet/type/layout.h"

namespace coconet {

struct TensorType {
  DType dtype;
  Shape shape;
  Layout layout;

  int rank() const { return static_cast<int>(shape.size()); }  // number of dims
  bool is_scalar() const { return shape.empty(); }
  std::string text(const Mesh& mesh) const;  // "f16[B,S,H] sliced(2)@tp"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// UserError(type) unless every slice names dims that `type` has, none of a sliced range is a
// literal 1, all partial axes have one operation, of numbers, and roots are not negative.
void validate(const TensorType& type, const Mesh& mesh);

}  // namespace coconet
