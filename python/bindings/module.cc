// The Python module coconet._coconet. The package's names are made in python/coconet/__init__.py.
#include <nanobind/nanobind.h>

#include "python/bindings/errors.h"
#include "python/bindings/parts.h"

NB_MODULE(_coconet, module) {
  using namespace coconet::python;
  nanobind::set_leak_warnings(false);  // a traceback that ends the interpreter keeps what it names
  bind_errors(module);
  bind_types(module);
  bind_graphs(module);
  bind_programs(module);
  bind_schedules(module);
  bind_compiled(module);
  bind_tuning(module);
}
