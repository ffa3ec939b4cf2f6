// The functions of the language: what each takes and which operation it stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coconet/graph/op.h"

namespace coconet {

// What an argument is. A value is an operand; all others become attributes of the operation.
enum class Role {
  value,
  dtype,
  fold,
  slice,
  integer,
  flag,
  dims,    // numbers of dims, ascending
  order,   // numbers of dims, in any order
  shape,   // dims
  size,    // a product of dims
  extent,  // an axis or a product of dims
  axis,
  offset,  // an integer of either sign
  word,
};

struct FunctionParameter {
  std::string_view name;
  Role role = Role::value;
  bool required = true;
  bool by_keyword = false;  // written `name=...`
};

// An attribute as given; nothing (monostate) if it was left out. An axis is given by its index, an
// extent is an axis or a dim, an offset an integer of either sign, a word 1.
using Attribute = std::variant<std::monostate, DType, Fold, Slice, std::int64_t, bool,
                               std::vector<int>, Dim, Shape>;

// `repeats`: the first parameter stands for one value or more.
struct Signature {
  std::string_view name;
  std::span<const FunctionParameter> parameters;
  bool takes_axes = false;  // `@tp` may follow
  // The operation, but for its axes; `attributes` has one for each parameter that is no value.
  Op (*make)(std::span<const Attribute> attributes) = nullptr;
  bool repeats = false;

  std::string text() const;  // "all_reduce(x, fold)@axes", for messages
};

// The function of that name; null if there is none. max and min are pointwise functions of two
// values and reductions of one: `reduces` says which is meant.
const Signature* find_signature(std::string_view name, bool reduces);

// The names of all functions, for suggestions.
std::vector<std::string> function_names();

// An operation of the language that this version does not have: what to say of it; "" for any other
// name.
std::string unsupported_function(std::string_view name);

}  // namespace coconet
