#include "coconet/type/mesh.h"

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet {

std::optional<int> Mesh::axis(std::string_view wanted) const {
  for (int i = 0; i < size(); ++i) {
    if (axes[i] == wanted) return i;
  }
  return std::nullopt;
}

std::string Mesh::text() const {
  std::string out = name + "(";
  for (int i = 0; i < size(); ++i) out += (i > 0 ? ", " : "") + axes[i];
  return out + ")";
}

std::string text_of_axes(const Mesh& mesh, const AxisList& axes) {
  if (mesh.size() == 1) return "";
  if (axes.size() == 1) return "@" + mesh.axes[axes[0]];
  std::string out = "@[";
  for (std::size_t i = 0; i < axes.size(); ++i) out += (i > 0 ? "," : "") + mesh.axes[axes[i]];
  return out + "]";
}

int MeshSizes::ranks() const {
  int product = 1;
  for (int size : sizes) product *= size;
  return product;
}

std::vector<int> MeshSizes::coordinates(int rank) const {
  check(rank >= 0 && rank < ranks(), "a rank of the mesh");
  std::vector<int> out(sizes.size());
  for (int axis = static_cast<int>(sizes.size()) - 1; axis >= 0; --axis) {
    out[axis] = rank % sizes[axis];
    rank /= sizes[axis];
  }
  return out;
}

int MeshSizes::rank(const std::vector<int>& coordinates) const {
  check(coordinates.size() == sizes.size(), "one coordinate per mesh axis");
  int out = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    out = out * sizes[axis] + coordinates[axis];
  }
  return out;
}

std::optional<int> MeshSizes::shifted(int rank, int axis, std::int64_t by, bool wrap) const {
  std::vector<int> at = coordinates(rank);
  const std::int64_t size = sizes[axis];
  std::int64_t to = at[axis] + by;
  if (wrap) to = (to % size + size) % size;
  if (to < 0 || to >= size) return std::nullopt;
  at[axis] = static_cast<int>(to);
  return this->rank(at);
}

std::vector<int> MeshSizes::group(int rank, const AxisList& axes) const {
  const std::vector<int> own = coordinates(rank);
  std::vector<int> out;
  for (int other = 0; other < ranks(); ++other) {
    const std::vector<int> theirs = coordinates(other);
    bool same = true;
    for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis) {
      const bool free = std::find(axes.begin(), axes.end(), axis) != axes.end();
      same = same && (free || own[axis] == theirs[axis]);
    }
    if (same) out.push_back(other);
  }
  return out;
}

void check_mesh(const Mesh& mesh, const MeshSizes& sizes) {
  const auto refuse = [](const std::string& message) {
    throw UserError(ErrorKind::usage, message);
  };
  if (static_cast<int>(sizes.sizes.size()) != mesh.size()) {
    refuse("found " + std::to_string(sizes.sizes.size()) + " mesh sizes; mesh " + mesh.text() +
           " needs " + std::to_string(mesh.size()));
  }
  int ranks = 1;
  for (int axis = 0; axis < mesh.size(); ++axis) {
    const int size = sizes.sizes[axis];
    if (size < 1) {
      refuse("axis " + mesh.axes[axis] + " has size " + std::to_string(size) +
             "; an axis has at least one rank");
    }
    if (__builtin_mul_overflow(ranks, size, &ranks)) refuse("a mesh has at most 2^31 - 1 ranks");
  }
}

}  // namespace coconet
