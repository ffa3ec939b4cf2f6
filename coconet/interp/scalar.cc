#include "coconet/interp/scalar.h"

#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "coconet/base/error.h"
#include "coconet/graph/literal.h"
#include "coconet/interp/element.h"
#include "coconet/kernel/operators.h"

namespace coconet::interp {
namespace {

[[noreturn]] void no_meaning(PointwiseFn fn, DTypeKind kind) {
  throw InternalError(std::string(name_of(fn)) + " has no meaning on " +
                      std::string(name_of(kind)));
}

// Rounds the result of a 16-bit operation; the others are what they were computed in.
template <class T>
ScalarValue rounded(DTypeKind kind, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (kind == DTypeKind::f16) value = kernel::widen(kernel::f16::from_float(value));
    if (kind == DTypeKind::bf16) value = kernel::widen(kernel::bf16::from_float(value));
  }
  return element_value(kind, value);
}

// What only floating types have.
template <class T>
ScalarValue apply_floating(PointwiseFn fn, DTypeKind kind, T a) {
  switch (fn) {
    case PointwiseFn::sqrt: return rounded(kind, kernel::sqrt(a));
    case PointwiseFn::rsqrt: return rounded(kind, kernel::rsqrt(a));
    case PointwiseFn::exp: return rounded(kind, kernel::exp(a));
    case PointwiseFn::log: return rounded(kind, kernel::log(a));
    case PointwiseFn::tanh: return rounded(kind, kernel::tanh(a));
    case PointwiseFn::erf: return rounded(kind, kernel::erf(a));
    case PointwiseFn::gelu: return rounded(kind, kernel::gelu(a));
    case PointwiseFn::silu: return rounded(kind, kernel::silu(a));
    case PointwiseFn::sigmoid: return rounded(kind, kernel::sigmoid(a));
    default: no_meaning(fn, kind);
  }
}

template <class T>
ScalarValue apply_pow(DTypeKind kind, T base, const ScalarValue& exponent) {
  if (exponent.kind == kind) return rounded(kind, kernel::pow(base, element_of<T>(exponent)));
  check(exponent.kind == DTypeKind::i32, "an exponent is an i32 or has the dtype of the base");
  if constexpr (std::is_integral_v<T>) {
    return rounded(kind, kernel::pow(base, T{exponent.i32}));
  } else {
    return rounded(kind, kernel::pow(base, exponent.i32));
  }
}

// On numbers.
template <class T>
ScalarValue apply_number(PointwiseFn fn, const ScalarValue* arguments) {
  const DTypeKind kind = arguments[0].kind;
  const T a = element_of<T>(arguments[0]);
  if (fn == PointwiseFn::pow) return apply_pow(kind, a, arguments[1]);
  T b{};
  if (arity_of(fn) == 2) {
    check(arguments[1].kind == kind, "operands have one dtype");
    b = element_of<T>(arguments[1]);
  }
  switch (fn) {
    case PointwiseFn::add: return rounded(kind, kernel::add(a, b));
    case PointwiseFn::sub: return rounded(kind, kernel::sub(a, b));
    case PointwiseFn::mul: return rounded(kind, kernel::mul(a, b));
    case PointwiseFn::div: return rounded(kind, kernel::div(a, b));
    case PointwiseFn::neg: return rounded(kind, kernel::neg(a));
    case PointwiseFn::abs: return rounded(kind, kernel::abs(a));
    case PointwiseFn::relu: return rounded(kind, kernel::relu(a));
    case PointwiseFn::min: return rounded(kind, kernel::min(a, b));
    case PointwiseFn::max: return rounded(kind, kernel::max(a, b));
    case PointwiseFn::lt: return scalar(kernel::lt(a, b));
    case PointwiseFn::le: return scalar(kernel::le(a, b));
    case PointwiseFn::gt: return scalar(kernel::gt(a, b));
    case PointwiseFn::ge: return scalar(kernel::ge(a, b));
    case PointwiseFn::eq: return scalar(kernel::eq(a, b));
    case PointwiseFn::ne: return scalar(kernel::ne(a, b));
    default:
      if constexpr (std::is_floating_point_v<T>) {
        return apply_floating(fn, kind, a);
      } else {
        no_meaning(fn, kind);
      }
  }
}

ScalarValue apply_boolean(PointwiseFn fn, const ScalarValue* arguments) {
  const bool a = arguments[0].boolean;
  if (fn == PointwiseFn::logical_not) return scalar(kernel::logical_not(a));
  check(arity_of(fn) == 2 && arguments[1].kind == DTypeKind::boolean, "operands have one dtype");
  const bool b = arguments[1].boolean;
  switch (fn) {
    case PointwiseFn::logical_and: return scalar(kernel::logical_and(a, b));
    case PointwiseFn::logical_or: return scalar(kernel::logical_or(a, b));
    case PointwiseFn::eq: return scalar(kernel::eq(a, b));
    case PointwiseFn::ne: return scalar(kernel::ne(a, b));
    default: no_meaning(fn, DTypeKind::boolean);
  }
}

}  // namespace

ScalarValue scalar(float value) { return element_value(DTypeKind::f32, value); }
ScalarValue scalar(double value) { return element_value(DTypeKind::f64, value); }
ScalarValue scalar(std::int32_t value) { return element_value(DTypeKind::i32, value); }
ScalarValue scalar(std::int64_t value) { return element_value(DTypeKind::i64, value); }
ScalarValue scalar(bool value) { return element_value(DTypeKind::boolean, value); }

ScalarValue load(DTypeKind kind, const std::byte* data, std::int64_t index) {
  return with_element(kind, [&]<class T>(Element<T>) {
    return element_value(kind, kernel::widen(load_element<T>(data, index)));
  });
}

void store(const ScalarValue& value, std::byte* data, std::int64_t index) {
  with_element(value.kind, [&]<class T>(Element<T>) {
    store_element(kernel::round_to<T>(element_of<kernel::Compute<T>>(value)), data, index);
  });
}

ScalarValue apply(PointwiseFn fn, const ScalarValue* arguments) {
  if (fn == PointwiseFn::where) {
    check(arguments[0].kind == DTypeKind::boolean && arguments[1].kind == arguments[2].kind,
          "where chooses between operands of one dtype by a bool");
    return arguments[0].boolean ? arguments[1] : arguments[2];
  }
  switch (arguments[0].kind) {
    case DTypeKind::f16:
    case DTypeKind::bf16:
    case DTypeKind::f32: return apply_number<float>(fn, arguments);
    case DTypeKind::f64: return apply_number<double>(fn, arguments);
    case DTypeKind::i32: return apply_number<std::int32_t>(fn, arguments);
    case DTypeKind::i64: return apply_number<std::int64_t>(fn, arguments);
    case DTypeKind::boolean: return apply_boolean(fn, arguments);
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

ScalarValue cast(const ScalarValue& value, DTypeKind to) {
  if (value.kind == to) return value;
  return with_element(value.kind, [&]<class From>(Element<From>) {
    return with_element(to, [&]<class To>(Element<To>) {
      return element_value(to, kernel::cast<To>(element_of<kernel::Compute<From>>(value)));
    });
  });
}

ScalarValue identity(Fold fold, DTypeKind kind) {
  return with_number(kind, [&]<class T>(Element<T>) {
    return with_fold(fold, [&]<class F>(F) {
      return element_value(kind, kernel::widen(kernel::stored_identity<F, T>()));
    });
  });
}

ScalarValue fold_step(Fold fold, const ScalarValue& a, const ScalarValue& b) {
  check(a.kind == b.kind && accumulator_of(a.kind) == a.kind, "a fold is of accumulators");
  return with_number(a.kind, [&]<class T>(Element<T>) {
    using C = kernel::Compute<T>;
    return with_fold(fold, [&]<class F>(F f) {
      return element_value(a.kind, f(element_of<C>(a), element_of<C>(b)));
    });
  });
}

ScalarValue value_of(const Constant& constant) {
  const DTypeKind to = constant.dtype.kind;
  return std::visit(
      [&](auto value) {
        if constexpr (std::is_same_v<decltype(value), std::int64_t>) {
          constant_of(value, constant.dtype, {});  // fits
        }
        return cast(scalar(value), to);
      },
      constant.value);
}

ScalarValue value_of(const AxisSize& size, const MeshSizes& mesh) {
  return cast(scalar(std::int64_t{mesh.sizes.at(size.axis)}), size.dtype.kind);
}

ScalarValue value_of(const DimSize& size, const Sizes& sizes) {
  return cast(scalar(bind(size, sizes)), size.dtype.kind);
}

double to_double(const ScalarValue& value) { return cast(value, DTypeKind::f64).f64; }

}  // namespace coconet::interp
