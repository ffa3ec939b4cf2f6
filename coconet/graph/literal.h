// Literals of the text form: a constant, a size(...), and what is computed from such alone. They
// take their dtype from the operand that they meet, so the printer and the reader of programs must
// agree on which operand that is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>

#include "coconet/graph/graph.h"

namespace coconet {

using LiteralValue = std::variant<bool, std::int64_t, double>;

// Shortest text that reads back as the same value: "3", "0.1", "1e-08", "true". A double has a
// point or an exponent. Requires: finite.
std::string text_of(const LiteralValue& value);

// What the dtype takes, if it cannot hold the value: "true or false", "integers", "smaller values";
// "" if it can. A number other than 0 that rounds to 0 is not held.
std::string needed_by(const DType& dtype, const LiteralValue& value);
// The literal in a dtype: in a floating one a double. UserError(type) if the dtype cannot hold it.
Constant constant_of(const LiteralValue& value, const DType& dtype, const Where& where);

// The value of a size(...). UserError(data) if its dtype cannot hold it.
std::int64_t bind(const DimSize& size, const Sizes& sizes);

// A computation on literals alone is done when the program is read. The other functions, and what
// has a size in it, become nodes.
bool folds(PointwiseFn fn);

// The dtype that a literal takes as operand `operand` of `op`. known[i] is the dtype of operand i;
// none if that is a literal too.
std::optional<DType> literal_dtype(const Op& op, int operand,
                                   std::span<const std::optional<DType>> known);

// Nothing but constants and sizes is in the node's expression, and reading its text would not fold
// it. Without a name it is written as it stands where an operand beside it gives the dtype, else
// inside a cast.
bool is_literal(const Graph& graph, NodeId id);
// The same, and the node has no name.
bool is_written_as_literal(const Graph& graph, NodeId id);

}  // namespace coconet
