// Type inference: the one place that says what an operation means on a layout (docs/language.md).
#pragma once

#include <span>

#include "coconet/graph/requirement.h"

namespace coconet {

// The type of `op` applied to operands of types `inputs`. UserError(type) that names the operands'
// types, what was needed and what would be legal. Pure.
// `requirements`: what the program requires of its sizes.
TensorType infer(const Op& op, std::span<const TensorType> inputs, const Mesh& mesh,
                 Requirements requirements = {});

// The axes that a communication operation left out: the one that fits, partial axes first, local
// ones only if there is none. UserError if none or several fit.
AxisList only_axes_for(const Op& op, const TensorType& operand, const Mesh& mesh);

}  // namespace coconet
