#include "coconet/type/tensor_type.h"

#include <optional>

#include "coconet/base/error.h"

namespace coconet {

std::string TensorType::text(const Mesh& mesh) const {
  const std::string place = layout.text(mesh);
  return dtype.text() + text_of(shape) + (place.empty() ? "" : " " + place);
}

namespace {

[[noreturn]] void refuse(const TensorType& type, const Mesh& mesh, const std::string& why) {
  throw UserError(ErrorKind::type, type.text(mesh) + " is not a type: " + why);
}

void validate_slice(const TensorType& type, const Mesh& mesh, const Slice& slice) {
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
