// Literals before they meet the operand that gives them a dtype.
#pragma once

#include <variant>
#include <vector>

#include "coconet/graph/literal.h"

namespace coconet {

// A number or truth value; the size of an axis or of dims; or a function of such that has to stay
// an operation (one with a size in it).
struct Literal {
  struct Size {
    std::variant<int, Dim> of;  // an axis, or dims
  };
  struct Call {
    PointwiseFn fn = PointwiseFn::add;
    std::vector<Literal> operands;
  };
  std::variant<LiteralValue, Size, Call> content;
  int operations = 0;  // in the Calls of content
};

// `fn` of literals alone, done now where it can be. Integers stay integers. UserError(type) where
// it has no value, would need a dtype, or has more than 1,000 operations left.
Literal computed(PointwiseFn fn, std::vector<Literal> operands, const Where& where);

// The default of a scalar. UserError(type) if the dtype cannot hold it.
double default_of(const LiteralValue& value, const DType& dtype, const Where& where);

}  // namespace coconet
