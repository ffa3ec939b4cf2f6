// What a program requires of its sizes: `require nh % size(tp) == 0`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/graph/op.h"

namespace coconet {

// A number or a condition: a literal, a product of dims, the ranks of an axis, or an operation.
struct SizeExpr {
  enum class Kind { dim, axis, operation };
  Kind kind = Kind::dim;
  Dim dim;  // literals too
  int axis = 0;
  std::string symbol;  // "+", "-", "*", "/", "%", "<", "<=", ..., "and", "or", "not"
  std::vector<SizeExpr> operands;

  bool is_condition() const;  // else a number
  friend bool operator==(const SizeExpr&, const SizeExpr&) = default;
};

struct Requirement {
  SizeExpr condition;
  Where where;
  friend bool operator==(const Requirement& a, const Requirement& b) {
    return a.condition == b.condition;
  }
};
using Requirements = std::span<const Requirement>;

std::string text_of(const SizeExpr& expr, const Mesh& mesh);
// The names of dims in it, each once.
std::vector<std::string> dims_in(const SizeExpr& expr);

// The requirements say that `dim` is a multiple of the product of the axes' sizes.
bool is_divided(Requirements requirements, const Dim& dim, const AxisList& axes);
// `dim` with every name for which a requirement gives a product (`H == nh * hd`) replaced by that.
Dim spelled_out(Requirements requirements, const Dim& dim);

// UserError(type) if one is a condition on literals alone that does not hold.
void verify_requirements(Requirements requirements, const Mesh& mesh);
// UserError(data) unless the sizes, of each member of lists, meet every requirement: which, values.
void check_requirements(Requirements requirements, const Mesh& mesh, const Sizes& sizes,
                        const MeshSizes& ranks);

}  // namespace coconet
