#include "python/bindings/errors.h"

#include <nanobind/stl/string.h>

#include "coconet/program/report.h"

namespace nb = nanobind;

namespace coconet::python {
namespace {

// What the handler of exceptions needs. The interpreter's, so they live as long as it.
PyObject* error_type = nullptr;
PyObject* internal_type = nullptr;
std::string* package_folder = nullptr;

void raise(const UserError& error, const std::string& text) {
  nb::object exception = nb::handle(error_type)(text);
  exception.attr("kind") = std::string(name_of(error.kind()));
  exception.attr("message") = error.message();
  exception.attr("file") = error.where().file;
  exception.attr("line") = error.where().line;
  exception.attr("column") = error.where().column;
  PyErr_SetObject(error_type, exception.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ErrorsIn& errors) {
    raise(errors.errors().errors()[0], render(errors.errors(), errors.source()));
  } catch (const UserErrors& errors) {
    raise(errors.errors()[0], render(errors, ""));
  } catch (const UserError& error) {
    raise(error, error.what());
  } catch (const InternalError& error) {
    PyErr_SetString(internal_type, error.what());
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  error_type = PyErr_NewExceptionWithDoc(
      "coconet.Error",
      "What is wrong with a program, a schedule, the data or the machine.\n\n"
      "kind: type, syntax, schedule, data, unsupported, usage or runtime; message: without the\n"
      "place; file, line, column: the place, or \"\" and 0.",
      PyExc_Exception, nullptr);
  internal_type = PyErr_NewExceptionWithDoc("coconet.InternalError", "A fault of coconet itself.",
                                            PyExc_RuntimeError, nullptr);
  module.attr("Error") = nb::borrow(error_type);
  module.attr("InternalError") = nb::borrow(internal_type);
  nb::register_exception_translator(translate);
  module.def("_set_package_folder", [](const std::string& folder) {
    delete package_folder;
    package_folder = new std::string(folder);
  });
}

CallSite caller() {
  for (PyFrameObject* frame = PyEval_GetFrame(); frame != nullptr;) {
    const nb::object object = nb::borrow(reinterpret_cast<PyObject*>(frame));
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const std::string file = nb::cast<std::string>(code.attr("co_filename"));
    const bool own = package_folder && file.starts_with(*package_folder);
    if (!own) return Where{file, PyFrame_GetLineNumber(frame)};
    // The caller holds it as long as this runs.
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_XDECREF(back);
    frame = back;
  }
  return Where{};
}

}  // namespace coconet::python
