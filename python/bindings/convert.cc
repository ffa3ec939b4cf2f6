#include "python/bindings/convert.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

namespace nb = nanobind;

namespace coconet::python {
namespace {

std::string shown(nb::handle object) { return nb::cast<std::string>(nb::repr(object)); }

[[noreturn]] void refuse(nb::handle found, const std::string& needed, const CallSite& at) {
  throw UserError(ErrorKind::type, "found " + shown(found) + "; needed is " + needed, at.where);
}

bool is_int(nb::handle object) {
  return nb::isinstance<nb::int_>(object) && !nb::isinstance<nb::bool_>(object);
}

bool is_sequence(nb::handle object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
}

std::int64_t integer_of(nb::handle object, const std::string& needed, const CallSite& at) {
  std::int64_t out = 0;
  if (!is_int(object) || !nb::try_cast(object, out)) refuse(object, needed, at);
  return out;
}

int small_integer_of(nb::handle object, const std::string& needed, const CallSite& at) {
  const std::int64_t out = integer_of(object, needed, at);
  if (!std::in_range<int>(out)) refuse(object, needed, at);
  return static_cast<int>(out);
}

}  // namespace

DType dtype_of(nb::handle object, const CallSite& at) {
  if (nb::isinstance<DType>(object)) return nb::cast<DType>(object);
  if (nb::isinstance<nb::str>(object)) {
    if (const auto kind = dtype_kind_of(nb::cast<std::string>(object))) return *kind;
  }
  std::string names;
  for (const std::string& name : dtype_names()) names += (names.empty() ? "" : ", ") + name;
  refuse(object, "a dtype: " + names + ", or what Program.dtype gives", at);
}

Fold fold_of(nb::handle object, const CallSite& at) {
  if (nb::isinstance<nb::str>(object)) {
    const std::string text = nb::cast<std::string>(object);
    for (const Fold fold : {Fold::sum, Fold::max, Fold::min, Fold::prod}) {
      if (text == name_of(fold)) return fold;
    }
  }
  refuse(object, "a fold: \"+\", \"max\", \"min\" or \"prod\"", at);
}

Slice slice_of(nb::handle object, const CallSite& at) {
  const std::string needed = "a slice: a dim as 0, dims from..to as (0, 1), or \"*\"";
  if (nb::isinstance<Slice>(object)) return nb::cast<Slice>(object);
  if (is_int(object)) return Slice::dim(small_integer_of(object, needed, at));
  if (nb::isinstance<nb::str>(object) && nb::cast<std::string>(object) == "*") return Slice::all();
  if (!is_sequence(object)) refuse(object, needed, at);
  const std::vector<int> dims = integers_of(object, at);
  if (dims.size() == 1) return Slice::dim(dims[0]);
  if (dims.size() != 2 || dims[0] > dims[1]) refuse(object, needed, at);
  return Slice::range(dims[0], dims[1]);
}

Dim dim_of(nb::handle object, const CallSite& at) {
  if (nb::isinstance<Dim>(object)) return nb::cast<Dim>(object);
  return Dim(integer_of(object, "a dim: what Program.dim gives, a product of such, or an int", at));
}

Shape shape_of(nb::handle object, const CallSite& at) {
  if (!is_sequence(object)) refuse(object, "a list of dims", at);
  Shape out;
  for (const nb::handle dim : object) out.push_back(dim_of(dim, at));
  return out;
}

bool is_operand(nb::handle object) {
  return nb::isinstance<Tensor>(object) || nb::isinstance<nb::int_>(object) ||
         nb::isinstance<nb::float_>(object) || nb::isinstance<nb::bool_>(object);
}

Operand operand_of(nb::handle object, const CallSite& at) {
  if (nb::isinstance<Tensor>(object)) return {nb::cast<Tensor>(object), at};
  if (nb::isinstance<nb::bool_>(object)) return {nb::cast<bool>(object), at};
  if (nb::isinstance<nb::float_>(object)) return {nb::cast<double>(object), at};
  return {integer_of(object, "a tensor of the program or a number", at), at};
}

std::vector<int> integers_of(nb::handle object, const CallSite& at) {
  const std::string needed = "an int or a list of such";
  if (!is_sequence(object)) return {small_integer_of(object, needed, at)};
  std::vector<int> out;
  for (const nb::handle each : object) out.push_back(small_integer_of(each, needed, at));
  return out;
}

std::vector<std::string> names_of(nb::handle object, const CallSite& at) {
  if (nb::isinstance<nb::str>(object)) return {nb::cast<std::string>(object)};
  if (!is_sequence(object)) refuse(object, "a name or a list of such", at);
  std::vector<std::string> out;
  for (const nb::handle each : object) {
    if (!nb::isinstance<nb::str>(each)) refuse(each, "a name", at);
    out.push_back(nb::cast<std::string>(each));
  }
  return out;
}

Sizes sizes_of(const nb::dict& sizes) {
  Sizes out;
  for (const auto& [name, size] : sizes) {
    const std::string text = nb::cast<std::string>(nb::str(name));
    const std::string needed = "a size, for the dim " + text;
    if (!is_sequence(size)) {
      out[text] = integer_of(size, needed, Where{});
      continue;
    }
    std::vector<std::int64_t>& members = out.lists[text];
    for (const nb::handle each : size) members.push_back(integer_of(each, needed, Where{}));
  }
  return out;
}

MeshSizes mesh_of(const Mesh& mesh, nb::handle ranks) {
  MeshSizes out;
  const std::string needed = mesh.size() == 1
                                 ? "a number of ranks for the axis " + mesh.axes[0]
                                 : "{axis: ranks} for each axis of the mesh " + mesh.text();
  const auto ranks_of = [&](nb::handle object) {
    const int count = small_integer_of(object, needed, Where{});
    if (count < 1) refuse(object, needed, Where{});
    return count;
  };
  if (!nb::isinstance<nb::dict>(ranks)) {
    if (mesh.size() != 1) refuse(ranks, needed, Where{});
    return {{ranks_of(ranks)}};
  }
  const nb::dict given = nb::cast<nb::dict>(ranks);
  for (const std::string& axis : mesh.axes) {
    if (!given.contains(axis.c_str())) refuse(ranks, needed, Where{});
    out.sizes.push_back(ranks_of(given[axis.c_str()]));
  }
  if (given.size() != out.sizes.size()) refuse(ranks, needed, Where{});
  return out;
}

}  // namespace coconet::python
