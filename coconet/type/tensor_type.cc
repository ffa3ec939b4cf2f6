#include "coconet/type/tensor_type.h"

#include <optional>

#include "coconet/base/error.h"
#include "coconet/type/list.h"

namespace coconet {
namespace {

constexpr const char* kDefaultIndex = "i";  // of a list of scalars that does not say its own

}  // namespace

std::string TensorType::text(const Mesh& mesh) const {
  const std::string place = layout.text(mesh);
  std::string dims = text_of(list.value_or(shape));
  if (list) dims += " list";
  if (is_scalar_list() && list_index(shape[0]) != kDefaultIndex) {
    dims += "(" + list_index(shape[0]) + ")";
  }
  return dtype.text() + dims + (place.empty() ? "" : " " + place);
}

TensorType list_of(const DType& dtype, const Shape& member, const Layout& layout,
                   std::string index) {
  std::string by = index.empty() ? "" : "list(" + index + ")";  // what says the index
  bool numbered = member.empty();
  for (const Dim& dim : member) {
    for (const std::string& name : dim.names()) {
      const std::string own = list_index(name);
      if (own.empty()) continue;
      numbered = true;
      if (index.empty()) {
        index = own;
        by = name;
      }
      if (own == index) continue;
      throw UserError(ErrorKind::type, text_of(member) + " list has two indices, of " + by +
                                           " and of " + name +
                                           "; needed: one; end the dims that differ by member in "
                                           "its letter, as N_i, and name the others otherwise");
    }
  }
  if (!numbered) {
    throw UserError(ErrorKind::type, text_of(member) +
                                         " list has no dim that is numbered by member; needed: one "
                                         "with a small letter behind an underscore, as N_i");
  }
  if (index.empty()) index = kDefaultIndex;
  if (index.size() != 1 || index[0] < 'a' || index[0] > 'z') {
    throw UserError(ErrorKind::type, "the index of a list is one small letter; found " + index);
  }
  const Dim whole = member.empty() ? Dim::members(index) : Dim::packed(product_of(member));
  return {dtype, {whole}, layout, member};
}

namespace {

[[noreturn]] void refuse(const TensorType& type, const Mesh& mesh, const std::string& why) {
  throw UserError(ErrorKind::type, type.text(mesh) + " is not a type: " + why);
}

void validate_slice(const TensorType& type, const Mesh& mesh, const Slice& slice) {
  if (type.is_scalar_list()) {
    refuse(type, mesh,
           "a list of scalars is small and not sliced; legal: replicated, local, partial, rooted");
  }
  if (type.is_list() && !slice.flat) {
    refuse(type, mesh,
           "slice " + slice.text() +
               " is of dims, which members have each their own; legal: sliced(*), "
               "which cuts the concatenated blocks of all members");
  }
  if (slice.flat) {
    if (type.shape.empty()) refuse(type, mesh, "a scalar has nothing to slice");
    return;
  }
  if (slice.first < 0 || slice.first > slice.last || slice.last >= type.rank()) {
    refuse(type, mesh,
           "slice " + slice.text() + " needs dims that exist; this tensor has " +
               std::to_string(type.rank()) + " dims, numbered from 0");
  }
  for (int d = slice.first; d <= slice.last; ++d) {
    if (type.shape[d].is_one()) {
      refuse(type, mesh,
             "dim " + std::to_string(d) + " of slice " + slice.text() +
                 " is a literal 1 (it broadcasts), which cannot be sliced; slice "
                 "a dim with a size, or keep the tensor replicated");
    }
  }
}

}  // namespace

void validate(const TensorType& type, const Mesh& mesh) {
  check(type.layout.axes() == mesh.size(), "a layout has one placement per mesh axis");
  if (const std::size_t dims = type.list.value_or(type.shape).size(); dims > kMostDims) {
    refuse(type, mesh,
           "it has " + std::to_string(dims) + " dims; at most " + std::to_string(kMostDims) +
               " are supported");
  }
  std::optional<Fold> fold;
  for (int axis = 0; axis < mesh.size(); ++axis) {
    const Placement& placement = type.layout.at(axis);
    if (const Sliced* sliced = std::get_if<Sliced>(&placement)) {
      validate_slice(type, mesh, sliced->slice);
    }
    if (const Rooted* rooted = std::get_if<Rooted>(&placement); rooted && rooted->root < 0) {
      refuse(type, mesh, "a root is the number of a rank, from 0");
    }
    if (const Partial* partial = std::get_if<Partial>(&placement)) {
      if (type.dtype.kind == DTypeKind::boolean) {
        refuse(type, mesh,
               "bool is not folded over ranks; needed a number, for example i32 with partial(max)");
      }
      if (fold && *fold != partial->fold) {
        refuse(type, mesh, "all partial axes of a tensor have one operation; reduce one first");
      }
      fold = partial->fold;
    }
  }
}

}  // namespace coconet
