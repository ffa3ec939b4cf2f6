// The arrays that a user gives to a run.
#pragma once

#include <nanobind/nanobind.h>

#include "coconet/execute/inputs.h"

namespace coconet::python {

// By input name: an array of the global tensor, a number, or, of a list, a list of arrays.
// UserError(usage) for a name that is no input's, UserError(data) for what is no array.
execute::GlobalTensors given_of(const Graph& graph, const nanobind::dict& inputs);

// UserError(usage) that names the tensors, and scalars without a default, that are not given.
void need_tensors(const Graph& graph, const execute::GlobalTensors& given);

// States that are not given begin as zeros.
void give_zero_states(const Graph& graph, const interp::Setting& setting,
                      execute::GlobalTensors& given);

}  // namespace coconet::python
