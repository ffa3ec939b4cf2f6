// Element types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coconet {

enum class DTypeKind { f16, bf16, f32, f64, i32, i64, boolean };

std::string_view name_of(DTypeKind kind);  // "f16", ..., "bool"
std::vector<std::string> dtype_names();
std::optional<DTypeKind> dtype_kind_of(std::string_view name);
int size_of(DTypeKind kind);  // bytes of an element
bool is_floating(DTypeKind kind);
bool is_integer(DTypeKind kind);
// What a value is computed and accumulated in: f32 for the 16-bit types, else the type itself.
DTypeKind accumulator_of(DTypeKind kind);
// Every value of `from` is a value of `to`, and sums are cast as their summands are: floating
// types, or equal ones.
bool widens(DTypeKind from, DTypeKind to);

// A dtype of a program: its kind and, where the program names it by a dtype parameter (`dtype T =
// f16`), that parameter. `T` and `f16` are different types even while T is bound to f16.
struct DType {
  DTypeKind kind = DTypeKind::f32;
  std::string parameter;

  DType() = default;
  DType(DTypeKind kind) : kind(kind) {}  // NOLINT: a kind is a dtype
  DType(DTypeKind kind, std::string parameter) : kind(kind), parameter(std::move(parameter)) {}

  std::string text() const;  // the parameter's name if there is one
  friend bool operator==(const DType&, const DType&) = default;
};

inline const DType f16{DTypeKind::f16};
inline const DType bf16{DTypeKind::bf16};
inline const DType f32{DTypeKind::f32};
inline const DType f64{DTypeKind::f64};
inline const DType i32{DTypeKind::i32};
inline const DType i64{DTypeKind::i64};
inline const DType boolean{DTypeKind::boolean};

}  // namespace coconet
