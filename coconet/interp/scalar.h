// One element's value and every operation on it: the one place that says what `a + b` is.
//
// A value has a dtype. The 16-bit types are held as the f32 of the same value, so `load` widens and
// `apply` computes in f32 and rounds to nearest even; what is held is always a value of its dtype.
// The functions themselves are those of kernel/, which generated code compiles too, so the two
// agree bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coconet/graph/op.h"
#include "coconet/type/dtype.h"
#include "coconet/type/layout.h"
#include "coconet/type/mesh.h"

namespace coconet::interp {

struct ScalarValue {
  DTypeKind kind = DTypeKind::f32;
  union {
    float f32 = 0;  // of f16, bf16 and f32
    double f64;
    std::int32_t i32;
    std::int64_t i64;
    bool boolean;
  };
};

ScalarValue scalar(float value);
ScalarValue scalar(double value);
ScalarValue scalar(std::int32_t value);
ScalarValue scalar(std::int64_t value);
ScalarValue scalar(bool value);

// Element `index` of an array of `kind` in storage; no alignment is needed.
ScalarValue load(DTypeKind kind, const std::byte* data, std::int64_t index);
// Writes in the storage of value.kind.
void store(const ScalarValue& value, std::byte* data, std::int64_t index);

// fn of its arity_of(fn) arguments, which have one kind (but for the condition of `where` and an
// i32 exponent of `pow`); comparisons give a bool. InternalError for a function that has no meaning
// on the kind (inference refuses those). Integers wrap; dividing one by 0 gives 0.
ScalarValue apply(PointwiseFn fn, const ScalarValue* arguments);

// To nearest even from a wider floating type or an integer; a floating value becomes an integer
// towards zero, saturating, NaN as 0; a bool is 0 or 1, and anything but 0 is true.
ScalarValue cast(const ScalarValue& value, DTypeKind to);

// What folding begins with: 0, the lowest, the highest, 1. Of a 16-bit kind or its accumulator.
ScalarValue identity(Fold fold, DTypeKind kind);
// One step of a fold in the accumulator's kind: integer sums wrap, min and max give NaN if either
// is NaN and take -0 as below +0. Requires: a and b have one kind, which is its own accumulator.
ScalarValue fold_step(Fold fold, const ScalarValue& a, const ScalarValue& b);

// Literals, rounded once to their dtype. UserError(data) if an integer does not fit.
ScalarValue value_of(const Constant& constant);
ScalarValue value_of(const AxisSize& size, const MeshSizes& mesh);
ScalarValue value_of(const DimSize& size, const Sizes& sizes);

// For messages and for measuring: the nearest f64 (exact but for large i64).
double to_double(const ScalarValue& value);

}  // namespace coconet::interp
