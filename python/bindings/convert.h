// What users write in Python, as the compiler's values. Each throws UserError(type) at `at` that
// says what was found and what would be legal.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <vector>

#include "coconet/execute/inputs.h"
#include "coconet/program/program.h"

namespace coconet::python {

// A DType or its name, "f32".
DType dtype_of(nanobind::handle object, const CallSite& at);
// "+", "max", "min", "prod".
Fold fold_of(nanobind::handle object, const CallSite& at);
// 0; (0, 1) for the dims from 0 to 1 as one; "*" for the whole tensor as one.
Slice slice_of(nanobind::handle object, const CallSite& at);
// A Dim or an int; a list of such.
Dim dim_of(nanobind::handle object, const CallSite& at);
Shape shape_of(nanobind::handle object, const CallSite& at);
// A Tensor or a number.
Operand operand_of(nanobind::handle object, const CallSite& at);
bool is_operand(nanobind::handle object);
// An int or several.
std::vector<int> integers_of(nanobind::handle object, const CallSite& at);
// A name or several.
std::vector<std::string> names_of(nanobind::handle object, const CallSite& at);

// {"N": 5, "N_i": [5, 1027]}.
Sizes sizes_of(const nanobind::dict& sizes);
// For the mesh of the graph: a number of ranks for its one axis, or {"dp": 2, "tp": 2}.
MeshSizes mesh_of(const Mesh& mesh, nanobind::handle ranks);

}  // namespace coconet::python
