#include "coconet/program/read_expression.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coconet/base/nearest.h"

namespace coconet {
namespace {

using syntax::Expr;
using syntax::ExprId;
using syntax::ExprKind;

// Calls of user functions inside user functions.
constexpr int kDeepestExpansion = 30;
// Calls of user functions in a program.
constexpr int kMostExpansions = 300000;

std::string needed_of(const FunctionParameter& parameter) {
  switch (parameter.role) {
    case Role::value: return "a value";
    case Role::dtype: return "a dtype, as f32";
    case Role::fold: return "a fold: +, max, min or prod";
    case Role::slice: return "a slice, as (0), (0..1) or (*)";
    case Role::integer: return "an integer";
    case Role::flag: return "true or false";
    case Role::order: return "the dims in their new order, as [1,0]";
    case Role::shape: return "dims in brackets, as [B,2*H]";
    case Role::size: return "a product of dims, as 2*H";
    case Role::dims: return "dims in brackets, as [0] or [0,1]";
    case Role::extent: return "an axis of the mesh or a product of dims";
    case Role::axis: return "an axis of the mesh";
    case Role::offset: return "an integer of either sign";
    case Role::word: return "the word `" + std::string(parameter.name) + "`";
  }
  throw InternalError("a Role outside its enumerators");
}

// What stands there, for the end of a message; "" where the place shows it.
std::string found_text(const Expr& expr) {
  const bool word = expr.kind == ExprKind::integer || expr.kind == ExprKind::real ||
                    expr.kind == ExprKind::boolean || expr.kind == ExprKind::name ||
                    expr.kind == ExprKind::fold;
  if (word) return "; found `" + expr.text + "`";
  if (expr.kind == ExprKind::slice) return "; found the slice " + expr.slice.text();
  if (expr.kind == ExprKind::dims) return "; found dims in brackets";
  return "; found an expression";
}

}  // namespace

Where ExpressionReader::where(const syntax::Place& place) const {
  return types_.where(expansion_ ? expansion_->place : place);
}

void ExpressionReader::refuse(const syntax::Place& place, const std::string& message) const {
  throw UserError(ErrorKind::type, message, where(place));
}

Value ExpressionReader::read(ExprId id) {
  const Expr& expr = tree_.at(id);
  switch (expr.kind) {
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::boolean: return read_literal(expr);
    case ExprKind::name: return read_name(expr);
    case ExprKind::call: return read_call(expr);
    case ExprKind::pointwise: {
      std::vector<Value> operands;
      for (ExprId child : expr.children) operands.push_back(read(child));
      return assembler_.pointwise(expr.fn, std::move(operands), where(expr.place));
    }
    case ExprKind::remainder:
    case ExprKind::fold:
    case ExprKind::slice:
    case ExprKind::dims:
    case ExprKind::keyword: break;
  }
  refuse(expr.place, "found an attribute (a fold, a slice or dims) where a value is needed");
}

Value ExpressionReader::read_literal(const Expr& expr) const {
  if (expr.kind == ExprKind::boolean) return Literal{LiteralValue(expr.text == "true")};
  if (expr.kind == ExprKind::integer) {
    return Literal{LiteralValue(syntax::integer_of(expr.text, where(expr.place)))};
  }
  const double value = std::strtod(expr.text.c_str(), nullptr);
  if (!std::isfinite(value)) refuse(expr.place, "`" + expr.text + "` is too large for a number");
  const std::string digits = expr.text.substr(0, expr.text.find_first_of("eE"));
  if (value == 0 && digits.find_first_not_of("0.") != std::string::npos) {
    refuse(expr.place, "`" + expr.text + "` is too small for a number and would round to 0");
  }
  return Literal{LiteralValue(value)};
}

Value ExpressionReader::read_name(const Expr& expr) const {
  if (expansion_) {
    const auto argument = expansion_->arguments.find(expr.text);
    if (argument != expansion_->arguments.end()) return argument->second;
    throw UserError(ErrorKind::type,
                    "`" + expr.text + "` is not a parameter of " + expansion_->function->name.text +
                        "; a function sees its parameters alone",
                    types_.where(expr.place));
  }
  if (const Value* value = scope_.find(expr.text)) return *value;
  const Declarations& declarations = types_.declarations();
  if (scope_.incomplete() || declarations.incomplete) throw Poisoned{};
  std::string message = "`" + expr.text + "` is not a value";
  if (declarations.has_dim(expr.text) || types_.mesh().axis(expr.text)) {
    message += "; for its size write `size(" + expr.text + ")`";
  } else if (find_signature(expr.text, false)) {
    message += "; it is a function, called as `" + find_signature(expr.text, false)->text() + "`";
  } else {
    const std::string guess = suggestion(expr.text, scope_.names());
    message += guess.empty() ? ", or not yet one: names are given before they are used" : guess;
  }
  refuse(expr.place, message);
}

Value ExpressionReader::read_call(const Expr& expr) {
  const auto& functions = types_.declarations().functions;
  const auto user = functions.find(expr.text);
  if (user != functions.end()) return expand(*user->second, expr);
  const std::string unsupported = unsupported_function(expr.text);
  if (!unsupported.empty()) {
    throw UserError(ErrorKind::unsupported, unsupported, where(expr.place));
  }
  const bool reduces =
      expr.children.size() == 1 ||
      (expr.children.size() > 1 && tree_.at(expr.children[1]).kind == ExprKind::dims);
  const Signature* function = find_signature(expr.text, reduces);
  if (!function) {
    if (types_.declarations().incomplete) throw Poisoned{};
    std::vector<std::string> known = function_names();
    for (const auto& [name, def] : functions) known.push_back(name);
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    const std::string guess = suggestion(expr.text, known);
    refuse(expr.place, "`" + expr.text + "` is not a function" +
                           (guess.empty() ? "; there are " + listed(known) : guess));
  }
  std::optional<AxisList> axes;
  if (expr.axes) {
    if (!function->takes_axes) {
      refuse(expr.place, "`" + expr.text + "` takes no `@` axes" +
                             (expr.text == "shift" ? "; its axis is an argument"
                                                   : "; it moves nothing between ranks"));
    }
    axes = types_.axes(*expr.axes);
    std::sort(axes->begin(), axes->end());
  }
  const std::vector<Assembler::Argument> given = arguments(*function, expr);
  return assembler_.call(*function, given, axes, where(expr.place));
}

namespace {

// The error's place is the call in the program; of the functions around it the innermost is named.
UserError in_function(const UserError& error, const syntax::Def& function) {
  constexpr std::string_view kIn = "; in the function `";
  if (error.message().find(kIn) != std::string::npos) return error;
  return {error.kind(),
          error.message() + std::string(kIn) + function.name.text + "` of line " +
              std::to_string(function.name.place.line),
          error.where()};
}

}  // namespace

Value ExpressionReader::expand(const syntax::Def& function, const Expr& call) {
  if (call.axes) refuse(call.place, "`" + call.text + "` takes no `@` axes");
  if (call.children.size() != function.parameters.size()) {
    refuse(call.place, "`" + call.text + "` takes " + std::to_string(function.parameters.size()) +
                           " values; found " + std::to_string(call.children.size()));
  }
  Expansion inner{&function,
                  expansion_ ? expansion_->place : call.place,
                  {},
                  expansion_ ? expansion_->depth + 1 : 1};
  if (inner.depth > kDeepestExpansion) {
    refuse(call.place,
           "functions are nested more than " + std::to_string(kDeepestExpansion) + " deep");
  }
  if (++expansions_ > kMostExpansions) {
    refuse(call.place, "functions of the file are called more than " +
                           std::to_string(kMostExpansions) + " times in this program");
  }
  for (std::size_t i = 0; i < call.children.size(); ++i) {
    inner.arguments.insert({function.parameters[i].text, read(call.children[i])});
  }
  const Expansion* outer = expansion_;
  expansion_ = &inner;
  try {
    Value value = read(function.value);
    expansion_ = outer;
    return value;
  } catch (const UserError& error) {
    expansion_ = outer;
    throw in_function(error, function);
  } catch (...) {
    expansion_ = outer;
    throw;
  }
}

std::vector<Assembler::Argument> ExpressionReader::arguments(const Signature& function,
                                                             const Expr& call) {
  std::vector<Assembler::Argument> out(function.parameters.size());
  std::vector<Assembler::Argument> more;  // values of a parameter that repeats
  std::vector<bool> given(function.parameters.size(), false);
  const std::size_t repeated = function.repeats ? repetitions(function, call) : 1;
  std::size_t next = 0;
  for (ExprId child : call.children) {
    const Expr& expr = tree_.at(child);
    const bool keyword = expr.kind == ExprKind::keyword;
    if (!keyword && next == 1 && more.size() + 1 < repeated) {
      more.push_back(argument(function, function.parameters[0], child));
      continue;
    }
    std::size_t at = keyword ? 0 : next++;
    while (keyword && at < out.size() && function.parameters[at].name != expr.text) ++at;
    const bool fits = at < out.size() && (keyword || !function.parameters[at].by_keyword);
    if (!fits || given[at]) {
      std::vector<std::string> names;
      for (std::size_t i = 0; keyword && i < out.size(); ++i) {
        if (!given[i]) names.emplace_back(function.parameters[i].name);
      }
      refuse(expr.place, "`" + call.text + "` has no place for this argument" +
                             suggestion(expr.text, names) + "; it is called as `" +
                             function.text() + "`");
    }
    given[at] = true;
    out[at] = argument(function, function.parameters[at], keyword ? expr.children[0] : child);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (given[i] || !function.parameters[i].required) continue;
    refuse(call.place, "`" + call.text + "` lacks its argument `" +
                           std::string(function.parameters[i].name) + "`, " +
                           needed_of(function.parameters[i]) + "; it is called as `" +
                           function.text() + "`");
  }
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(more.empty() ? 0 : 1), more.begin(),
             more.end());
  return out;
}

// How many of the positional arguments are values of the first parameter: all but one for each of
// the others.
std::size_t ExpressionReader::repetitions(const Signature& function, const Expr& call) const {
  std::size_t positional = 0, others = 0;
  for (ExprId child : call.children) positional += tree_.at(child).kind != ExprKind::keyword;
  for (const FunctionParameter& parameter : function.parameters) others += !parameter.by_keyword;
  return positional + 1 > others ? positional + 1 - others : 1;
}

Assembler::Argument ExpressionReader::argument(const Signature& function,
                                               const FunctionParameter& parameter, ExprId id) {
  const Expr& expr = tree_.at(id);
  const std::string needed = "the argument `" + std::string(parameter.name) + "` of `" +
                             std::string(function.name) + "` is " + needed_of(parameter);
  if (parameter.role == Role::word) {
    if (expr.kind == ExprKind::name && expr.text == parameter.name) return std::int64_t{1};
    refuse(expr.place, needed + found_text(expr));
  }
  if (parameter.role != Role::value) return attribute(parameter.role, expr, needed);
  const bool value = expr.kind != ExprKind::fold && expr.kind != ExprKind::slice &&
                     expr.kind != ExprKind::dims && expr.kind != ExprKind::keyword;
  if (!value) refuse(expr.place, needed + found_text(expr));
  return read(id);
}

Assembler::Argument ExpressionReader::attribute(Role role, const Expr& expr,
                                                const std::string& needed) const {
  if (role == Role::dtype && expr.kind == ExprKind::name) {
    return types_.dtype({expr.text, expr.place});
  }
  if (role == Role::fold) {
    for (Fold fold : {Fold::sum, Fold::max, Fold::min, Fold::prod}) {
      const bool bare = expr.kind == ExprKind::name || expr.kind == ExprKind::fold;
      if (bare && expr.text == name_of(fold)) return fold;
    }
  }
  if (role == Role::slice && expr.kind == ExprKind::slice) return expr.slice;
  if ((role == Role::integer || role == Role::slice) && expr.kind == ExprKind::integer) {
    const std::int64_t value = syntax::integer_of(expr.text, where(expr.place));
    if (value > std::numeric_limits<int>::max()) refuse(expr.place, needed + " of 31 bits");
    if (role == Role::integer) return value;
    return Slice::dim(static_cast<int>(value));
  }
  if (role == Role::offset) {
    const bool minus = expr.kind == ExprKind::pointwise && expr.fn == PointwiseFn::neg;
    const Expr& size = minus ? tree_.at(expr.children[0]) : expr;
    if (size.kind == ExprKind::integer) {
      const std::int64_t value = syntax::integer_of(size.text, where(size.place));
      if (value > std::numeric_limits<int>::max()) refuse(expr.place, needed + " of 31 bits");
      return minus ? -value : value;
    }
  }
  if (role == Role::axis && expr.kind == ExprKind::name) {
    return static_cast<std::int64_t>(
        types_.axes(std::vector{syntax::Word{expr.text, expr.place}})[0]);
  }
  if (role == Role::flag && expr.kind == ExprKind::boolean) return expr.text == "true";
  if (role == Role::dims && expr.kind == ExprKind::dims) return dims_of(expr, true);
  if (role == Role::order && expr.kind == ExprKind::dims) return dims_of(expr, false);
  if (role == Role::shape && expr.kind == ExprKind::dims) {
    Shape out;
    for (const syntax::DimExpr& dim : expr.dims) out.push_back(types_.dim(dim));
    return out;
  }
  if (role == Role::size && is_size(expr)) return dim_of(expr);
  if (role == Role::extent) return extent(expr);
  refuse(expr.place, needed + found_text(expr));
}

Assembler::Argument ExpressionReader::extent(const Expr& expr) const {
  if (expr.kind == ExprKind::name) {
    if (const std::optional<int> axis = types_.mesh().axis(expr.text)) {
      return static_cast<std::int64_t>(*axis);
    }
  }
  return dim_of(expr);
}

Dim ExpressionReader::dim_of(const Expr& expr) const {
  if (expr.kind == ExprKind::integer) {
    return Dim(syntax::integer_of(expr.text, where(expr.place)));
  }
  if (expr.kind == ExprKind::pointwise && expr.fn == PointwiseFn::mul) {
    return dim_of(tree_.at(expr.children[0])) * dim_of(tree_.at(expr.children[1]));
  }
  if (expr.kind != ExprKind::name) {
    refuse(expr.place, "size(...) takes an axis of the mesh " + types_.mesh().text() +
                           " or a product of dims, as size(B*S)");
  }
  syntax::DimExpr dim;
  dim.names.push_back({expr.text, expr.place});
  return types_.dim(dim);
}

bool ExpressionReader::is_size(const Expr& expr) const {
  if (expr.kind == ExprKind::integer || expr.kind == ExprKind::name) return true;
  return expr.kind == ExprKind::pointwise && expr.fn == PointwiseFn::mul &&
         is_size(tree_.at(expr.children[0])) && is_size(tree_.at(expr.children[1]));
}

std::vector<int> ExpressionReader::dims_of(const Expr& expr, bool sorted) const {
  std::vector<int> out;
  for (const syntax::DimExpr& dim : expr.dims) {
    if (!dim.names.empty() || dim.coefficient > std::numeric_limits<int>::max()) {
      refuse(dim.place, "dims are given by their numbers here, from 0");
    }
    out.push_back(static_cast<int>(dim.coefficient));
  }
  std::vector<int> ascending = out;
  std::sort(ascending.begin(), ascending.end());
  if (out.empty()) {
    refuse(expr.place, std::string("no dims in the brackets") +
                           (sorted ? "; without brackets all are reduced" : ""));
  }
  const auto twice = std::adjacent_find(ascending.begin(), ascending.end());
  if (twice != ascending.end()) {
    refuse(expr.place, "dim " + std::to_string(*twice) + " stands twice; each dim stands once");
  }
  return sorted ? ascending : out;
}

}  // namespace coconet
