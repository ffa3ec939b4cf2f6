// Dtypes, dims, placements.
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace coconet::python {
namespace {

void bind_dtypes(nb::module_& module) {
  nb::class_<DType>(module, "DType", "The type of elements: f16, bf16, f32, f64, i32, i64, bool.")
      .def_prop_ro("name", [](const DType& dtype) { return std::string(name_of(dtype.kind)); })
      .def("__repr__", [](const DType& dtype) { return dtype.text(); })
      .def(
          "__eq__",
          [](const DType& a, nb::handle b) {
            return nb::isinstance<DType>(b) && a == nb::cast<DType>(b);
          },
          "other"_a.none())
      .def("__hash__", [](const DType& dtype) { return nb::hash(nb::str(dtype.text().c_str())); });
  for (const std::string& name : dtype_names()) {
    module.attr((name == "bool" ? "boolean" : name).c_str()) = DType(*dtype_kind_of(name));
  }
}

void bind_dims(nb::module_& module) {
  nb::class_<Dim>(module, "Dim", "A size that is known when a program runs, or a product of such.")
      .def("__repr__", &Dim::text)
      .def("__mul__", [](const Dim& a, nb::handle b) { return a * dim_of(b, caller()); })
      .def("__rmul__", [](const Dim& a, nb::handle b) { return dim_of(b, caller()) * a; })
      .def(
          "__eq__",
          [](const Dim& a, nb::handle b) {
            return nb::isinstance<Dim>(b) && a == nb::cast<Dim>(b);
          },
          "other"_a.none())
      .def("__hash__", [](const Dim& dim) { return nb::hash(nb::str(dim.text().c_str())); });
  nb::class_<Slice>(module, "Slice", "The dims that a tensor is cut along.")
      .def("__repr__", &Slice::text);
  nb::class_<InputShape>(module, "ListShape", "The shape of the members of a list of tensors.");
  module.def(
      "list_of",
      [](nb::handle member, const std::string& index) {
        return list(shape_of(member, caller()), index);
      },
      "member"_a, "index"_a = "",
      "The shape of a list of tensors whose members have this one: list_of([N_i]).\n\n"
      "index: of a list of scalars, list_of([], \"j\").");
}

// The dims first..last that it cuts, none of "*"; nothing if it is no slice.
std::optional<std::vector<int>> dims_of_slice(const Placed& placed) {
  const Sliced* sliced = std::get_if<Sliced>(&placed.placement);
  if (!sliced) return std::nullopt;
  std::vector<int> out;
  if (sliced->slice.flat) return out;
  for (int d = sliced->slice.first; d <= sliced->slice.last; ++d) out.push_back(d);
  return out;
}

void bind_placements(nb::module_& module) {
  nb::class_<Placed>(module, "Placement", "How a tensor lies on the ranks of an axis.")
      .def("__repr__", [](const Placed& placed) { return text_of(placed.placement); })
      .def_prop_ro("_axes", [](const Placed& placed) { return placed.axes; })
      .def_prop_ro("_slice", dims_of_slice)
      .def(
          "on",
          [](const Placed& placed, const nb::args& axes) {
            Placed out = placed;
            out.axes.clear();
            for (const nb::handle axis : axes) out.axes.push_back(names_of(axis, caller()).at(0));
            return out;
          },
          "The axes that this is on; needed on a mesh of several.");
  module.attr("replicated") = replicated();
  module.attr("local") = local();
  module.def(
      "sliced",
      [](nb::handle first, nb::handle last) {
        const CallSite at = caller();
        if (last.is_none()) return Placed{Sliced{slice_of(first, at)}, {}};
        return Placed{Sliced{slice_of(nb::make_tuple(first, last), at)}, {}};
      },
      "first"_a, "last"_a = nb::none(),
      "Each rank has a part: cut along a dim, along the dims first..last taken as one, or, \"*\",\n"
      "along the whole tensor taken as one.");
  module.def(
      "partial", [](nb::handle fold) { return partial(fold_of(fold, caller())); }, "fold"_a = "+",
      "The value is the fold over the ranks.");
  module.def(
      "rooted", [](int root) { return rooted(root); }, "root"_a, "One rank has the value.");
}

}  // namespace

void bind_types(nb::module_& module) {
  bind_dtypes(module);
  bind_dims(module);
  bind_placements(module);
}

}  // namespace coconet::python
