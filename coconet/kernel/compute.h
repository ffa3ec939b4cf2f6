// From the types that tensors store to the types that operations compute in, and back.
//
// Every operation of a program is: widen, one operation in the compute type, round to nearest even
// to the stored type. Values that stay in registers are rounded too, so fused and unfused agree.
#pragma once

#include <cstdint>
#include <type_traits>

#include "coconet/kernel/float16.h"

namespace coconet::kernel {

template <class T>
struct ComputeOf {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> ||
                    std::is_same_v<T, bool>,
                "an element type is f16, bf16, float, double, int32_t, int64_t or bool");
  using Type = T;
};
template <>
struct ComputeOf<f16> {
  using Type = float;
};
template <>
struct ComputeOf<bf16> {
  using Type = float;
};

// The type that operations on T compute in.
template <class T>
using Compute = typename ComputeOf<T>::Type;

template <class T>
inline constexpr bool kIs16Bit = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// Exact.
template <class T>
COCONET_HD constexpr Compute<T> widen(T x) {
  if constexpr (kIs16Bit<T>) {
    return x.to_float();
  } else {
    return x;
  }
}

// The T nearest to x, ties to even; exact unless T has 16 bits.
template <class T>
COCONET_HD constexpr T round_to(Compute<T> x) {
  if constexpr (kIs16Bit<T>) {
    return T::from_float(x);
  } else {
    return x;
  }
}

// What storing x as a T and reading it again would give, x being the result of an operation on
// values of T. Of a bf16 it is a NaN that such a value was, or one of the processor or of
// kernel/math.h, and these end in zeros; a GPU's do not.
template <class T>
COCONET_HD constexpr Compute<T> rounded(Compute<T> x) {
  if constexpr (std::is_same_v<T, bf16>) {
#ifdef __CUDA_ARCH__
    return bf16::nearest(x);
#else
    return bf16::nearest_of_result(x);
#endif
  } else {
    return widen(round_to<T>(x));
  }
}

// round_to<T>(x) for an x that is a T's value already: rounded, widened or chosen from such.
template <class T>
COCONET_HD constexpr T narrowed(Compute<T> x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return bf16::upper_half(x);
  } else {
    return round_to<T>(x);
  }
}

}  // namespace coconet::kernel
