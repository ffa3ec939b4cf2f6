#include "coconet/type/piece.h"

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet {

Sizes with_axes(Sizes sizes, const Mesh& mesh, const MeshSizes& mesh_sizes) {
  check_mesh(mesh, mesh_sizes);
  const auto need_size = [](const std::string& name, std::int64_t size) {
    if (size >= 0) return;
    throw UserError(ErrorKind::data,
                    "dim " + name + " must not be negative; found " + std::to_string(size));
  };
  for (const auto& [name, size] : sizes) need_size(name, size);
  for (const auto& [name, list] : sizes.lists) {
    for (std::int64_t size : list) need_size(name, size);
  }
  for (int axis = 0; axis < mesh.size(); ++axis) sizes[mesh.axes[axis]] = mesh_sizes.sizes[axis];
  return sizes;
}

Cut cut(std::int64_t total, int parts, int part, std::int64_t grain) {
  check(parts >= 1 && part >= 0 && part < parts && total >= 0, "a part of a cut");
  const std::int64_t grains = total / grain + (total % grain != 0);
  const std::int64_t each = (grains / parts + (grains % parts != 0)) * grain;
  const std::int64_t begin = std::min(total, each * part);
  return {begin, std::min(total - begin, each)};
}

Piece::Piece(std::vector<std::int64_t> sizes, const Layout& layout, const MeshSizes& mesh,
             const std::vector<int>& coordinates)
    : sizes_(std::move(sizes)) {
  for (int d = 0; d < static_cast<int>(sizes_.size()); ++d) {
    global_count_ = checked_product(global_count_, sizes_[d]);
    groups_.push_back({sizes_[d], 0, sizes_[d], d, {}});
  }
  for (int axis : layout.slice_order()) {
    slice_flat(layout.slice(axis), mesh.sizes[axis], coordinates[axis]);
  }
  count_ = 1;
  for (const Group& group : groups_) count_ = checked_product(count_, group.count);
  for (int axis = 0; axis < layout.axes(); ++axis) {
    const Rooted* rooted = std::get_if<Rooted>(&layout.at(axis));
    if (rooted && rooted->root != coordinates[axis]) count_ = 0;
  }
}

namespace {

bool holds_dim(const Piece::Group& group, int first, int last) {
  if (group.children.empty()) return first <= group.dim && group.dim <= last;
  return holds_dim(group.children.front(), first, last);
}

std::int64_t global_of(const Piece::Group& group, std::int64_t index,
                       std::vector<std::int64_t>& coordinates) {
  index += group.begin;
  if (group.children.empty()) return coordinates[group.dim] = index;
  for (auto child = group.children.rbegin(); child != group.children.rend(); ++child) {
    global_of(*child, index % child->count, coordinates);
    index /= child->count;
  }
  return index;
}

}  // namespace

// Merges the groups that `slice` takes as one index and cuts that index.
void Piece::slice_flat(const Slice& slice, int parts, int part) {
  const int first = slice.flat ? 0 : slice.first;
  const int last = slice.flat ? static_cast<int>(sizes_.size()) - 1 : slice.last;
  std::vector<Group> before, merged, after;
  for (Group& group : groups_) {
    if (holds_dim(group, first, last)) {
      merged.push_back(std::move(group));
    } else {
      (merged.empty() ? before : after).push_back(std::move(group));
    }
  }
  check(!merged.empty(), "a slice names dims of the tensor");
  Group whole;
  for (const Group& group : merged) whole.total = checked_product(whole.total, group.count);
  const Cut piece = cut(whole.total, parts, part, slice.flat ? kBlock : 1);
  whole.begin = piece.begin;
  whole.count = piece.count;
  if (merged.size() == 1 && merged[0].children.empty() && merged[0].whole()) {
    whole.dim = merged[0].dim;
  } else {
    whole.children = std::move(merged);
  }
  groups_ = std::move(before);
  groups_.push_back(std::move(whole));
  groups_.insert(groups_.end(), after.begin(), after.end());
}

std::int64_t Piece::global(std::int64_t local) const {
  check(local >= 0 && local < count_, "an element of the piece");
  std::vector<std::int64_t> coordinates(sizes_.size(), 0);
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    global_of(*group, local % group->count, coordinates);
    local /= group->count;
  }
  std::int64_t out = 0;
  for (std::size_t d = 0; d < sizes_.size(); ++d) out = out * sizes_[d] + coordinates[d];
  return out;
}

bool Piece::contiguous() const {
  if (count_ <= 1) return true;
  return global(count_ - 1) - global(0) == count_ - 1;
}

std::int64_t largest_piece(const std::vector<std::int64_t>& sizes, const Layout& layout,
                           const MeshSizes& mesh) {
  std::vector<int> coordinates(mesh.sizes.size(), 0);  // the first part of a cut is the largest
  for (int axis = 0; axis < layout.axes(); ++axis) {
    const Rooted* rooted = std::get_if<Rooted>(&layout.at(axis));
    if (rooted) coordinates[axis] = rooted->root;
  }
  return Piece(sizes, layout, mesh, coordinates).count();
}

}  // namespace coconet
