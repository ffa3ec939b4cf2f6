// The parts of the module; each binds one idea.
#pragma once

#include <nanobind/nanobind.h>

namespace coconet::python {

void bind_types(nanobind::module_& module);      // dtypes, dims, slices, placements
void bind_programs(nanobind::module_& module);   // Program, Tensor, the functions
void bind_graphs(nanobind::module_& module);     // Graph, File and reading of texts
void bind_schedules(nanobind::module_& module);  // Schedule, Scheduling, what may come next
void bind_compiled(nanobind::module_& module);   // Compiled: runs and joined ranks
void bind_tuning(nanobind::module_& module);

}  // namespace coconet::python
