// From a dtype known at run time to a type known at compile time: what the interpreter's loops are
// instantiated with. Internal to interp/.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "coconet/base/error.h"
#include "coconet/interp/scalar.h"
#include "coconet/kernel/compute.h"
#include "coconet/kernel/lanes.h"

namespace coconet::interp {

// The storage type of a dtype, as an argument of a generic function.
template <class T>
struct Element {
  using Type = T;
};

// Calls f(Element<T>) with the dtype's storage type.
template <class F>
decltype(auto) with_element(DTypeKind kind, F&& f) {
  switch (kind) {
    case DTypeKind::f16: return f(Element<kernel::f16>{});
    case DTypeKind::bf16: return f(Element<kernel::bf16>{});
    case DTypeKind::f32: return f(Element<float>{});
    case DTypeKind::f64: return f(Element<double>{});
    case DTypeKind::i32: return f(Element<std::int32_t>{});
    case DTypeKind::i64: return f(Element<std::int64_t>{});
    case DTypeKind::boolean: return f(Element<bool>{});
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

// The same for what can be folded.
template <class F>
decltype(auto) with_number(DTypeKind kind, F&& f) {
  switch (kind) {
    case DTypeKind::f16: return f(Element<kernel::f16>{});
    case DTypeKind::bf16: return f(Element<kernel::bf16>{});
    case DTypeKind::f32: return f(Element<float>{});
    case DTypeKind::f64: return f(Element<double>{});
    case DTypeKind::i32: return f(Element<std::int32_t>{});
    case DTypeKind::i64: return f(Element<std::int64_t>{});
    case DTypeKind::boolean: break;
  }
  throw InternalError("a fold of bools has no meaning");
}

// Calls f with kernel::Sum, Max, Min or Prod.
template <class F>
decltype(auto) with_fold(Fold fold, F&& f) {
  switch (fold) {
    case Fold::sum: return f(kernel::Sum{});
    case Fold::max: return f(kernel::Max{});
    case Fold::min: return f(kernel::Min{});
    case Fold::prod: return f(kernel::Prod{});
  }
  throw InternalError("a Fold outside its enumerators");
}

template <class T>
T load_element(const std::byte* data, std::int64_t index) {
  if constexpr (std::is_same_v<T, bool>) {
    return data[index] != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
}

template <class T>
void store_element(T value, std::byte* data, std::int64_t index) {
  if constexpr (std::is_same_v<T, bool>) {
    data[index] = std::byte{value};
  } else {
    std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

// The compute value that a ScalarValue holds, and back.
template <class C>
C element_of(const ScalarValue& value) {
  if constexpr (std::is_same_v<C, float>) return value.f32;
  if constexpr (std::is_same_v<C, double>) return value.f64;
  if constexpr (std::is_same_v<C, std::int32_t>) return value.i32;
  if constexpr (std::is_same_v<C, std::int64_t>) return value.i64;
  if constexpr (std::is_same_v<C, bool>) return value.boolean;
}

template <class C>
ScalarValue element_value(DTypeKind kind, C value) {
  ScalarValue out;
  out.kind = kind;
  if constexpr (std::is_same_v<C, float>) out.f32 = value;
  if constexpr (std::is_same_v<C, double>) out.f64 = value;
  if constexpr (std::is_same_v<C, std::int32_t>) out.i32 = value;
  if constexpr (std::is_same_v<C, std::int64_t>) out.i64 = value;
  if constexpr (std::is_same_v<C, bool>) out.boolean = value;
  return out;
}

}  // namespace coconet::interp
