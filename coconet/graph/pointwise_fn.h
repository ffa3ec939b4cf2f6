// The pointwise functions: all that is known of each without its operands' types.
#pragma once

#include <string_view>

namespace coconet {

enum class PointwiseFn {  // `where` stays last
  add,
  sub,
  mul,
  div,
  neg,
  abs,
  sqrt,
  rsqrt,
  exp,
  log,
  tanh,
  erf,
  relu,
  gelu,
  silu,
  sigmoid,
  pow,
  min,
  max,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,
  logical_not,
  where
};

std::string_view name_of(PointwiseFn fn);    // "add", "lt", "where", ...
std::string_view symbol_of(PointwiseFn fn);  // "+", "<", "and"; "" for functions written as calls
std::string_view word_of(PointwiseFn fn);    // the symbol, or else the name: what a program writes
int arity_of(PointwiseFn fn);

// What operands (of `where`: the second and third) may be: any dtype but bool, floating dtypes,
// bool, any.
enum class Domain { numbers, floating, logical, anything };
Domain domain_of(PointwiseFn fn);
bool compares(PointwiseFn fn);  // the result is bool, whatever the operands
// Operands and result have one dtype, so that a literal may pass through.
bool keeps_dtype(PointwiseFn fn);

// How tightly an expression binds, loosest first (docs/language.md).
enum class Binding { logical_or = 1, logical_and, logical_not, comparison, sum, term, sign, atom };
Binding binding_of(PointwiseFn fn);
// The operator of two operands that is written so; null if there is none.
const PointwiseFn* operator_of(std::string_view symbol);

}  // namespace coconet
