#include "coconet/interp/piece_index.h"

#include <cstring>

#include "coconet/base/error.h"

namespace coconet::interp {
namespace {

void spread(const Piece::Group& group, std::int64_t index, Coordinates* out) {
  index += group.begin;
  if (group.children.empty()) {
    (*out)[group.dim] = index;
    return;
  }
  for (auto child = group.children.rbegin(); child != group.children.rend(); ++child) {
    spread(*child, index % child->count, out);
    index /= child->count;
  }
}

// The index inside the group, -1 if the group does not hold it.
std::int64_t gather(const Piece::Group& group, const Coordinates& coordinates) {
  std::int64_t index = 0;
  if (group.children.empty()) {
    index = coordinates[group.dim];
  } else {
    for (const Piece::Group& child : group.children) {
      const std::int64_t inner = gather(child, coordinates);
      if (inner < 0) return -1;
      index = index * child.count + inner;
    }
  }
  index -= group.begin;
  return index >= 0 && index < group.count ? index : -1;
}

bool same_group(const Piece::Group& a, const Piece::Group& b) {
  if (a.total != b.total || a.begin != b.begin || a.count != b.count || a.dim != b.dim ||
      a.children.size() != b.children.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    if (!same_group(a.children[i], b.children[i])) return false;
  }
  return true;
}

}  // namespace

void coordinates_of(const Piece& piece, std::int64_t local, Coordinates* out) {
  for (auto group = piece.groups().rbegin(); group != piece.groups().rend(); ++group) {
    spread(*group, local % group->count, out);
    local /= group->count;
  }
}

std::int64_t local_of(const Piece& piece, const Coordinates& coordinates) {
  if (piece.count() == 0) return -1;
  std::int64_t local = 0;
  for (const Piece::Group& group : piece.groups()) {
    const std::int64_t inner = gather(group, coordinates);
    if (inner < 0) return -1;
    local = local * group.count + inner;
  }
  return local;
}

bool same_cut(const Piece& a, const Piece& b) {
  if (a.count() != b.count() || a.sizes() != b.sizes() || a.groups().size() != b.groups().size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.groups().size(); ++i) {
    if (!same_group(a.groups()[i], b.groups()[i])) return false;
  }
  return true;
}

Cut range_of(const Piece& piece, int dim) {
  for (const Piece::Group& group : piece.groups()) {
    // A leaf or a leaf that several axes cut one after the other.
    std::int64_t begin = group.begin;
    const Piece::Group* inner = &group;
    while (inner->children.size() == 1) {
      inner = &inner->children[0];
      begin += inner->begin;
    }
    if (inner->children.empty() && inner->dim == dim) return {begin, group.count};
  }
  throw InternalError("a dim that is read as a range is not merged with others");
}

Bytes select(const Piece& from, const Bytes& bytes, const Piece& out, int element_size) {
  if (same_cut(from, out)) return bytes;
  Bytes result(out.count() * element_size);
  Coordinates at(out.sizes().size());
  for (std::int64_t i = 0; i < out.count(); ++i) {
    coordinates_of(out, i, &at);
    const std::int64_t source = local_of(from, at);
    check(source >= 0, "a piece holds what is selected of it");
    std::memcpy(&result[i * element_size], &bytes[source * element_size], element_size);
  }
  return result;
}

void place(const Piece& from, const Bytes& bytes, const Piece& out, int element_size,
           Bytes* out_bytes) {
  Coordinates at(out.sizes().size());
  for (std::int64_t i = 0; i < from.count(); ++i) {
    coordinates_of(from, i, &at);
    const std::int64_t target = local_of(out, at);
    check(target >= 0, "a piece holds what is placed in it");
    std::memcpy(&(*out_bytes)[target * element_size], &bytes[i * element_size], element_size);
  }
}

OperandIndex::OperandIndex(const Piece& result, const TensorType& operand, const Piece& held)
    : result_(result), held_(held), at_result_(result.sizes().size()), at_operand_(operand.rank()) {
  bool one_element = true;
  for (const Dim& dim : operand.shape) {
    broadcasts_.push_back(dim.is_one());
    one_element = one_element && dim.is_one();
  }
  if (one_element) {
    plain_ = true;
    step_ = 0;
  } else if (same_cut(result, held)) {
    plain_ = true;
  } else if (result.sizes() == held.sizes() && held.count() == held.global_count() &&
             result.contiguous()) {
    plain_ = true;  // the operand is whole: held densely in the order of the global index
    offset_ = result.count() > 0 ? result.global(0) : 0;
  }
}

std::int64_t OperandIndex::general(std::int64_t local) {
  coordinates_of(result_, local, &at_result_);
  const std::size_t lead = at_result_.size() - at_operand_.size();
  for (std::size_t d = 0; d < at_operand_.size(); ++d) {
    at_operand_[d] = broadcasts_[d] ? 0 : at_result_[lead + d];
  }
  const std::int64_t index = local_of(held_, at_operand_);
  check(index >= 0, "an operand holds what its rank's result needs");
  return index;
}

}  // namespace coconet::interp
