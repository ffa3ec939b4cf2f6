// The operations of programs on compute values, under their names in the language: what generated
// code and the interpreter call. Both operands have the same type; the result of a 16-bit operation
// is then rounded with round_to (kernel/compute.h).
//
// Integers: + - * and neg wrap; x / y truncates, x / 0 = 0 and the smallest / -1 wraps to itself;
// abs of the smallest is itself. Nothing traps.
// Floating: IEEE 754, each operation rounded once. min and max give NaN if either is NaN, and order
// -0 below +0. relu(x) = max(x, +0).
#pragma once

#include <cstdint>
#include <type_traits>

#include "coconet/kernel/cast.h"
#include "coconet/kernel/math.h"
#include "coconet/kernel/pow.h"

namespace coconet::kernel {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
COCONET_HD COCONET_INLINE T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
COCONET_HD COCONET_INLINE T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  } else {
    return a - b;
  }
}

template <class T>
COCONET_HD COCONET_INLINE T mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  } else {
    return a * b;
  }
}

template <class T>
COCONET_HD COCONET_INLINE T neg(T a) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
  } else {
    return -a;
  }
}

template <class T>
COCONET_HD COCONET_INLINE T div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    return b == -1 ? kernel::neg(a) : static_cast<T>(a / b);
  } else {
    return a / b;
  }
}

template <class T>
COCONET_HD COCONET_INLINE T abs(T a) {
  if constexpr (std::is_integral_v<T>) {
    return a < 0 ? kernel::neg(a) : a;
  } else {
    return magnitude(a);
  }
}

// Orders as numbers do, with -0 below +0; NaNs are beyond the infinities.
template <class F>
COCONET_HD COCONET_INLINE typename Format<F>::Signed order_of(F x) {
  using Bits = typename Format<F>::Bits;
  using Signed = typename Format<F>::Signed;
  const Bits bits = to_bits(x);
  const Bits negative = mask_of<F>((bits & Format<F>::kSign) != 0);
  return static_cast<Signed>(bits ^ (negative & ~Format<F>::kSign));
}

template <class T>
COCONET_HD COCONET_INLINE T min(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b < a ? b : a;
  } else {
    const T smaller = select(mask_of<T>(order_of(b) < order_of(a)), b, a);
    return or_nan(or_nan(smaller, a), b);
  }
}

template <class T>
COCONET_HD COCONET_INLINE T max(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b ? b : a;
  } else {
    const T larger = select(mask_of<T>(order_of(a) < order_of(b)), b, a);
    return or_nan(or_nan(larger, a), b);
  }
}

template <class T>
COCONET_HD COCONET_INLINE T relu(T a) {
  return kernel::max(a, T{0});
}

template <class T>
COCONET_HD COCONET_INLINE bool lt(T a, T b) {
  return a < b;
}
template <class T>
COCONET_HD COCONET_INLINE bool le(T a, T b) {
  return a <= b;
}
template <class T>
COCONET_HD COCONET_INLINE bool gt(T a, T b) {
  return a > b;
}
template <class T>
COCONET_HD COCONET_INLINE bool ge(T a, T b) {
  return a >= b;
}
template <class T>
COCONET_HD COCONET_INLINE bool eq(T a, T b) {
  return a == b;
}
template <class T>
COCONET_HD COCONET_INLINE bool ne(T a, T b) {
  return a != b;
}

COCONET_HD COCONET_INLINE bool logical_and(bool a, bool b) { return a & b; }
COCONET_HD COCONET_INLINE bool logical_or(bool a, bool b) { return a | b; }
COCONET_HD COCONET_INLINE bool logical_not(bool a) { return !a; }

// Both values are computed; the choice is a select, so loops over it vectorise.
template <class T>
COCONET_HD COCONET_INLINE T where(bool condition, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return select(mask_of<T>(condition), a, b);
  } else if constexpr (std::is_same_v<T, bool>) {
    return (condition & a) | (!condition & b);
  } else {
    const Unsigned<T> mask = Unsigned<T>{0} - static_cast<Unsigned<T>>(condition);
    return static_cast<T>((mask & static_cast<Unsigned<T>>(a)) |
                          (~mask & static_cast<Unsigned<T>>(b)));
  }
}

}  // namespace coconet::kernel
