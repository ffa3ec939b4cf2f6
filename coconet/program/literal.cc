#include "coconet/program/literal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coconet {
namespace {

constexpr int kMostOperations = 1000;

[[noreturn]] void refuse(const std::string& message, const Where& where) {
  throw UserError(ErrorKind::type, message, where);
}

const LiteralValue* value_of(const Literal& literal) {
  return std::get_if<LiteralValue>(&literal.content);
}

std::string shown(PointwiseFn fn) { return "`" + std::string(word_of(fn)) + "`"; }

double number_of(const LiteralValue& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  const std::int64_t* whole = std::get_if<std::int64_t>(&value);
  return whole ? static_cast<double>(*whole) : std::get<double>(value);
}

LiteralValue compared(PointwiseFn fn, double a, double b) {
  switch (fn) {
    case PointwiseFn::lt: return a < b;
    case PointwiseFn::le: return a <= b;
    case PointwiseFn::gt: return a > b;
    case PointwiseFn::ge: return a >= b;
    case PointwiseFn::eq: return a == b;
    default: return a != b;
  }
}

LiteralValue of_integers(PointwiseFn fn, std::int64_t a, std::int64_t b, const Where& where) {
  std::int64_t out = 0;
  bool overflow = false;
  if (fn == PointwiseFn::add) {
    overflow = __builtin_add_overflow(a, b, &out);
  } else if (fn == PointwiseFn::sub) {
    overflow = __builtin_sub_overflow(a, b, &out);
  } else if (fn == PointwiseFn::mul) {
    overflow = __builtin_mul_overflow(a, b, &out);
  } else {
    if (b == 0) refuse("a division of literals by zero has no value", where);
    overflow = a == std::numeric_limits<std::int64_t>::min() && b == -1;
    if (!overflow && a % b != 0) {
      refuse(std::to_string(a) + " / " + std::to_string(b) +
                 " of integer literals would drop the fraction; write " + std::to_string(a) +
                 ".0 / " + std::to_string(b),
             where);
    }
    if (!overflow) out = a / b;
  }
  if (overflow) refuse("this literal does not fit in 63 bits", where);
  return out;
}

LiteralValue of_reals(PointwiseFn fn, double a, double b, const Where& where) {
  double out = a / b;
  if (fn == PointwiseFn::add) out = a + b;
  if (fn == PointwiseFn::sub) out = a - b;
  if (fn == PointwiseFn::mul) out = a * b;
  if (!std::isfinite(out)) refuse("this expression of literals has no finite value", where);
  return out;
}

LiteralValue folded(PointwiseFn fn, const LiteralValue& a, const LiteralValue& b,
                    const Where& where) {
  const bool truths = std::holds_alternative<bool>(a);
  if (truths != std::holds_alternative<bool>(b)) {
    refuse(shown(fn) + " of " + text_of(a) + " and " + text_of(b) +
               " mixes a number and a truth value; compare the number first",
           where);
  }
  if (fn == PointwiseFn::logical_and || fn == PointwiseFn::logical_or) {
    if (!truths) refuse(shown(fn) + " takes truth values; found " + text_of(a), where);
    const bool x = std::get<bool>(a);
    const bool y = std::get<bool>(b);
    return fn == PointwiseFn::logical_and ? (x && y) : (x || y);
  }
  if (truths) {
    if (fn == PointwiseFn::eq) return a == b;
    if (fn == PointwiseFn::ne) return a != b;
    refuse(shown(fn) + " takes numbers; found " + text_of(a), where);
  }
  const std::int64_t* x = std::get_if<std::int64_t>(&a);
  const std::int64_t* y = std::get_if<std::int64_t>(&b);
  if (compares(fn)) return compared(fn, number_of(a), number_of(b));
  if (x && y) return of_integers(fn, *x, *y, where);
  return of_reals(fn, number_of(a), number_of(b), where);
}

LiteralValue folded(PointwiseFn fn, const LiteralValue& a, const Where& where) {
  const bool* truth = std::get_if<bool>(&a);
  if (fn == PointwiseFn::logical_not) {
    if (!truth) refuse("`not` takes a truth value; found " + text_of(a), where);
    return !*truth;
  }
  if (truth) refuse("`-` takes a number; found " + text_of(a), where);
  if (const std::int64_t* whole = std::get_if<std::int64_t>(&a)) {
    return of_integers(PointwiseFn::sub, 0, *whole, where);
  }
  return -std::get<double>(a);
}

}  // namespace

Literal computed(PointwiseFn fn, std::vector<Literal> operands, const Where& where) {
  const bool constant = std::all_of(operands.begin(), operands.end(),
                                    [](const Literal& operand) { return value_of(operand); });
  if (constant && folds(fn)) {
    if (operands.size() == 1) return {folded(fn, *value_of(operands[0]), where)};
    return {folded(fn, *value_of(operands[0]), *value_of(operands[1]), where)};
  }
  if (!keeps_dtype(fn)) {
    refuse(shown(fn) + " on literals alone has no dtype; give one, as in `cast(1, f32)`", where);
  }
  int operations = 1;
  for (const Literal& operand : operands) operations += operand.operations;
  if (operations > kMostOperations) {
    refuse("an expression of sizes and literals has at most " + std::to_string(kMostOperations) +
               " operations; make it one of tensors with cast(..., f32)",
           where);
  }
  return {Literal::Call{fn, std::move(operands)}, operations};
}

double default_of(const LiteralValue& value, const DType& dtype, const Where& where) {
  constexpr double kMost = 9007199254740992.0;  // 2^53
  const double number = number_of(value);
  if (dtype.kind == DTypeKind::boolean) {
    if (number == 0 || number == 1) return number;
    refuse("the default of a bool is true or false (or 1 or 0); found " + text_of(value), where);
  }
  if (!is_floating(dtype.kind) && std::fabs(number) > kMost) {
    refuse("the default of a scalar has at most 53 bits", where);
  }
  const std::string needed = needed_by(dtype, value);
  if (needed.empty()) return number;
  const std::string bound =
      dtype.parameter.empty() ? "" : ", here " + std::string(name_of(dtype.kind)) + ",";
  refuse("the default of a scalar of dtype " + dtype.text() + bound + " is " +
             (std::isfinite(number) ? text_of(value) : std::string("NaN or infinity")) +
             "; needed are " + needed,
         where);
}

}  // namespace coconet
