// Programs in Python: the same graphs as of the text form and the C++ form.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace coconet::python {
namespace {

using Given = Operand::Given;

// The argument of a parameter; None: left out.
Given argument_of(const FunctionParameter& parameter, nb::handle object, const CallSite& at) {
  if (object.is_none() && !parameter.required) return {};
  switch (parameter.role) {
    case Role::value: return operand_of(object, at);
    case Role::dtype: return dtype_of(object, at);
    case Role::fold: return fold_of(object, at);
    case Role::slice: return slice_of(object, at);
    case Role::integer:
    case Role::offset: return static_cast<std::int64_t>(integers_of(object, at).at(0));
    case Role::flag: return nb::cast<bool>(object);
    case Role::dims: {
      std::vector<int> dims = integers_of(object, at);
      std::ranges::sort(dims);
      return dims.empty() ? Given() : Given(std::move(dims));
    }
    case Role::order: return integers_of(object, at);
    case Role::shape: return shape_of(object, at);
    case Role::size:
    case Role::extent: return dim_of(object, at);
    case Role::word: return nb::cast<bool>(object) ? Given(std::int64_t{1}) : Given();
    case Role::axis: return {};  // given beside the arguments
  }
  check(false, "every role has a conversion");
  return {};
}

const PointwiseFn* pointwise_named(const std::string& name) {
  static const std::vector<PointwiseFn> kAll = [] {
    std::vector<PointwiseFn> out;
    for (int fn = 0; fn <= static_cast<int>(PointwiseFn::where); ++fn) {
      out.push_back(static_cast<PointwiseFn>(fn));
    }
    return out;
  }();
  const auto found = std::ranges::find(kAll, name, [](PointwiseFn fn) { return name_of(fn); });
  return found == kAll.end() ? nullptr : &*found;
}

// A function of the language by its name. `axes`: of a collective.
Tensor call(const std::string& name, const nb::list& arguments, nb::handle axes) {
  const CallSite at = caller();
  const PointwiseFn* fn = pointwise_named(name);
  const bool operands = std::ranges::all_of(arguments, is_operand);
  if (fn && static_cast<int>(arguments.size()) == arity_of(*fn) &&
      (operands || !find_signature(name, true))) {
    std::vector<Operand> all;
    for (const nb::handle each : arguments) all.push_back(operand_of(each, at));
    return Operand::pointwise(*fn, all);
  }
  const bool reduces = arguments.size() < 2 || !is_operand(arguments[1]);
  const Signature* function = find_signature(name, reduces);
  check(function != nullptr, "python/coconet/functions.py names functions that exist");
  std::vector<Given> given;
  std::size_t next = 0;
  for (const FunctionParameter& parameter : function->parameters) {
    const nb::object object = next < arguments.size() ? nb::object(arguments[next]) : nb::none();
    const bool several = next == 0 && function->repeats;
    ++next;
    if (!several) {
      given.push_back(argument_of(parameter, object, at));
      continue;
    }
    for (const nb::handle each : object) given.push_back(operand_of(each, at));
  }
  const std::vector<std::string> names = axes.is_none() ? Axes() : names_of(axes, at);
  return Operand::call(name.c_str(), given, names);
}

template <PointwiseFn fn>
Tensor binary(const Tensor& a, nb::handle b) {
  const CallSite at = caller();
  return Operand::pointwise(fn, {Operand(a, at), operand_of(b, at)});
}
template <PointwiseFn fn>
Tensor reversed(const Tensor& a, nb::handle b) {
  const CallSite at = caller();
  return Operand::pointwise(fn, {operand_of(b, at), Operand(a, at)});
}
template <PointwiseFn fn>
Tensor unary(const Tensor& a) {
  return Operand::pointwise(fn, {Operand(a, caller())});
}

// By dim that slices cut: the axes that do, by their places in the mesh.
std::map<int, std::vector<int>> cuts_of(const Tensor& x) {
  const TensorType& type = x.type();
  std::map<int, std::vector<int>> out;
  for (const int axis : type.layout.axes_that_are<Sliced>()) {
    for (int d = 0; d < static_cast<int>(type.shape.size()); ++d) {
      if (type.layout.slice(axis).has(d)) out[d].push_back(axis);
    }
  }
  return out;
}

void bind_tensor(nb::module_& module) {
  using Fn = PointwiseFn;
  nb::class_<Tensor>(module, "Tensor",
                     "A value of a program. &, | and ~ stand for and, or, not; @ for matmul.")
      .def_prop_ro("name", &Tensor::name)
      .def_prop_ro(
          "shape", [](const Tensor& x) { return x.type().shape; }, "Its dims.")
      .def_prop_ro("_cuts", cuts_of)
      .def_prop_ro("_dtype", [](const Tensor& x) { return x.type().dtype; })
      .def("__repr__", [](const Tensor& x) { return "<coconet.Tensor " + x.name() + ">"; })
      .def("__hash__", [](nb::handle self) { return reinterpret_cast<std::intptr_t>(self.ptr()); })
      .def("__bool__",
           [](const Tensor&) -> bool {
             throw UserError(ErrorKind::type,
                             "found a tensor as a condition of Python; it has no value before the "
                             "program runs: use where(condition, x, y), &, | and ~",
                             caller().where);
           })
      .def("__add__", binary<Fn::add>)
      .def("__radd__", reversed<Fn::add>)
      .def("__sub__", binary<Fn::sub>)
      .def("__rsub__", reversed<Fn::sub>)
      .def("__mul__", binary<Fn::mul>)
      .def("__rmul__", reversed<Fn::mul>)
      .def("__truediv__", binary<Fn::div>)
      .def("__rtruediv__", reversed<Fn::div>)
      .def("__pow__", binary<Fn::pow>)
      .def("__rpow__", reversed<Fn::pow>)
      .def("__lt__", binary<Fn::lt>)
      .def("__le__", binary<Fn::le>)
      .def("__gt__", binary<Fn::gt>)
      .def("__ge__", binary<Fn::ge>)
      .def("__eq__", binary<Fn::eq>)
      .def("__ne__", binary<Fn::ne>)
      .def("__and__", binary<Fn::logical_and>)
      .def("__or__", binary<Fn::logical_or>)
      .def("__invert__", unary<Fn::logical_not>)
      .def("__neg__", unary<Fn::neg>)
      .def("__abs__", unary<Fn::abs>)
      .def("__matmul__", [](const Tensor& a, nb::handle b) {
        const CallSite at = caller();
        return matmul(Operand(a, at), operand_of(b, at));
      });
  module.def("_call", call, "name"_a, "arguments"_a, "axes"_a = nb::none());
}

InputShape input_shape_of(nb::handle shape, const CallSite& at) {
  if (nb::isinstance<InputShape>(shape)) return nb::cast<InputShape>(shape);
  return shape_of(shape, at);
}

Placements placements_of(nb::handle placement, const CallSite& at) {
  Placements out;
  if (placement.is_none()) return out;
  if (nb::isinstance<Placed>(placement)) return nb::cast<Placed>(placement);
  const bool several = nb::isinstance<nb::list>(placement) || nb::isinstance<nb::tuple>(placement);
  for (const nb::handle each : several ? nb::list(placement) : nb::list()) {
    if (nb::isinstance<Placed>(each)) out.list.push_back(nb::cast<Placed>(each));
  }
  if (!several || out.list.size() != nb::len(placement)) {
    throw UserError(ErrorKind::type,
                    "found " + nb::cast<std::string>(nb::repr(placement)) +
                        "; needed is a placement or a list of such: replicated, local, sliced(0), "
                        "partial(\"+\"), rooted(0)",
                    at.where);
  }
  return out;
}

template <class Declare>
auto input_like(const Declare& declare) {
  return [declare](Program& program, const std::string& name, nb::handle dtype, nb::handle shape,
                   nb::handle placement) {
    const CallSite at = caller();
    return (program.*declare)(name, dtype_of(dtype, at), input_shape_of(shape, at),
                              placements_of(placement, at), at);
  };
}

std::vector<Tensor> outputs_of(const nb::args& outputs, const CallSite& at) {
  std::vector<Tensor> out;
  for (const nb::handle each : outputs) {
    if (!nb::isinstance<Tensor>(each)) {
      throw UserError(ErrorKind::type,
                      "found " + nb::cast<std::string>(nb::repr(each)) +
                          "; needed are the tensors that the program returns",
                      at.where);
    }
    out.push_back(nb::cast<Tensor>(each));
  }
  return out;
}

void bind_declarations(nb::class_<Program>& program) {
  program
      .def(
          "__init__",
          [](Program* self, const std::string& name, nb::handle axes, const std::string& mesh) {
            const CallSite at = caller();
            new (self) Program(name, Mesh{mesh, names_of(axes, at)}, at);
          },
          "name"_a, "axes"_a, "mesh"_a = "world",
          "axes: of the mesh of ranks, as [\"dp\", \"tp\"].")
      .def(
          "dim", [](Program& p, const std::string& name) { return p.dim(name, caller()); },
          "name"_a)
      .def(
          "dtype",
          [](Program& p, const std::string& name, nb::handle value) {
            const CallSite at = caller();
            return p.dtype(name, dtype_of(value, at), at);
          },
          "name"_a, "default"_a, "A dtype that whoever runs the program may choose.")
      .def(
          "require",
          [](Program& p, const std::string& condition) { p.require(condition, caller()); },
          "condition"_a, "A condition on sizes, as \"nh % size(tp) == 0\".")
      .def("input", input_like(&Program::input), "name"_a, "dtype"_a, "shape"_a,
           "placement"_a = nb::none())
      .def("state", input_like(&Program::state), "name"_a, "dtype"_a, "shape"_a,
           "placement"_a = nb::none(), "An input that keeps its value from call to call.")
      .def(
          "scalar",
          [](Program& p, const std::string& name, nb::handle dtype, std::optional<double> value) {
            const CallSite at = caller();
            return p.scalar(name, dtype_of(dtype, at), value, at);
          },
          "name"_a, "dtype"_a, "default"_a = nb::none());
}

void bind_values(nb::class_<Program>& program) {
  program
      .def(
          "size",
          [](const Program& p, nb::handle of) {
            const CallSite at = caller();
            if (nb::isinstance<Dim>(of)) return p.size(nb::cast<Dim>(of));
            return p.size(names_of(of, at).at(0), at);
          },
          "of"_a, "The ranks on an axis, or the size of a product of dims.")
      .def(
          "let",
          [](Program& p, const std::string& name, nb::handle value) {
            return p.let(name, operand_of(value, caller()));
          },
          "name"_a, "value"_a, "Names a value.")
      .def(
          "returns",
          [](Program& p, const nb::args& outputs) {
            const CallSite at = caller();
            p.returns(outputs_of(outputs, at), at);
          },
          "The outputs, by their names.")
      .def("graph", &Program::graph, "The typed graph.");
}

}  // namespace

void bind_programs(nb::module_& module) {
  bind_tensor(module);
  nb::class_<Program> program(
      module, "Program",
      "A program being written. Declare dims, dtypes and requirements first, then inputs; name\n"
      "values with let; returns comes last. str(program.graph()) is its text.");
  bind_declarations(program);
  bind_values(program);
}

}  // namespace coconet::python
