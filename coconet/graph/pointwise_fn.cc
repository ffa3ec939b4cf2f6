#include "coconet/graph/pointwise_fn.h"

#include <array>

#include "coconet/base/error.h"

namespace coconet {
namespace {

struct Facts {
  PointwiseFn fn;
  std::string_view name;
  std::string_view symbol;
  int arity;
  Domain domain;
  Binding binding;
};

constexpr std::array kFacts = {
    Facts{PointwiseFn::add, "add", "+", 2, Domain::numbers, Binding::sum},
    Facts{PointwiseFn::sub, "sub", "-", 2, Domain::numbers, Binding::sum},
    Facts{PointwiseFn::mul, "mul", "*", 2, Domain::numbers, Binding::term},
    Facts{PointwiseFn::div, "div", "/", 2, Domain::numbers, Binding::term},
    Facts{PointwiseFn::neg, "neg", "-", 1, Domain::numbers, Binding::sign},
    Facts{PointwiseFn::abs, "abs", "", 1, Domain::numbers, Binding::atom},
    Facts{PointwiseFn::sqrt, "sqrt", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::rsqrt, "rsqrt", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::exp, "exp", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::log, "log", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::tanh, "tanh", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::erf, "erf", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::relu, "relu", "", 1, Domain::numbers, Binding::atom},
    Facts{PointwiseFn::gelu, "gelu", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::silu, "silu", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::sigmoid, "sigmoid", "", 1, Domain::floating, Binding::atom},
    Facts{PointwiseFn::pow, "pow", "", 2, Domain::floating, Binding::atom},
    Facts{PointwiseFn::min, "min", "", 2, Domain::numbers, Binding::atom},
    Facts{PointwiseFn::max, "max", "", 2, Domain::numbers, Binding::atom},
    Facts{PointwiseFn::lt, "lt", "<", 2, Domain::numbers, Binding::comparison},
    Facts{PointwiseFn::le, "le", "<=", 2, Domain::numbers, Binding::comparison},
    Facts{PointwiseFn::gt, "gt", ">", 2, Domain::numbers, Binding::comparison},
    Facts{PointwiseFn::ge, "ge", ">=", 2, Domain::numbers, Binding::comparison},
    Facts{PointwiseFn::eq, "eq", "==", 2, Domain::anything, Binding::comparison},
    Facts{PointwiseFn::ne, "ne", "!=", 2, Domain::anything, Binding::comparison},
    Facts{PointwiseFn::logical_and, "logical_and", "and", 2, Domain::logical, Binding::logical_and},
    Facts{PointwiseFn::logical_or, "logical_or", "or", 2, Domain::logical, Binding::logical_or},
    Facts{PointwiseFn::logical_not, "logical_not", "not", 1, Domain::logical, Binding::logical_not},
    Facts{PointwiseFn::where, "where", "", 3, Domain::anything, Binding::atom},
};

constexpr bool has_row_of_each() {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].fn != static_cast<PointwiseFn>(i)) return false;
  }
  return kFacts.size() == static_cast<std::size_t>(PointwiseFn::where) + 1;
}
static_assert(has_row_of_each(), "one row for each PointwiseFn, in their order; `where` is last");

const Facts& facts_of(PointwiseFn fn) {
  const std::size_t row = static_cast<std::size_t>(fn);
  check(row < kFacts.size(), "a PointwiseFn within its enumerators");
  return kFacts[row];
}

}  // namespace

std::string_view name_of(PointwiseFn fn) { return facts_of(fn).name; }
std::string_view symbol_of(PointwiseFn fn) { return facts_of(fn).symbol; }
std::string_view word_of(PointwiseFn fn) {
  return symbol_of(fn).empty() ? name_of(fn) : symbol_of(fn);
}
int arity_of(PointwiseFn fn) { return facts_of(fn).arity; }
Domain domain_of(PointwiseFn fn) { return facts_of(fn).domain; }
bool compares(PointwiseFn fn) { return facts_of(fn).binding == Binding::comparison; }
bool keeps_dtype(PointwiseFn fn) {
  const Domain domain = domain_of(fn);
  return (domain == Domain::numbers || domain == Domain::floating) && !compares(fn);
}
Binding binding_of(PointwiseFn fn) { return facts_of(fn).binding; }

const PointwiseFn* operator_of(std::string_view symbol) {
  for (const Facts& facts : kFacts) {
    if (facts.arity == 2 && !symbol.empty() && facts.symbol == symbol) return &facts.fn;
  }
  return nullptr;
}

}  // namespace coconet
