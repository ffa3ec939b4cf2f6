#include "coconet/interp/global_tensor.h"

#include <cstring>
#include <string>

#include "coconet/base/error.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {
namespace {

bool has_own_dim(const Layout& layout, int axis) {
  return layout.is<Local>(axis) || layout.is<Partial>(axis);
}

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t out = 1;
  for (std::int64_t size : sizes) out = checked_product(out, size);
  return out;
}

// Where the tensor that rank's coordinates on the leading dims choose begins, in elements.
std::int64_t offset_of(const TensorType& type, const Setting& setting, int rank,
                       std::int64_t elements) {
  const std::vector<int> coordinates = setting.mesh.coordinates(rank);
  std::int64_t index = 0;
  for (int axis = 0; axis < type.layout.axes(); ++axis) {
    if (has_own_dim(type.layout, axis))
      index = index * setting.mesh.sizes[axis] + coordinates[axis];
  }
  return index * elements;
}

// Calls copy(global byte, local byte, bytes) for the runs of elements that the piece holds.
template <class Copy>
void for_each_run(const Piece& piece, std::int64_t offset, int size, const Copy& copy) {
  if (piece.contiguous()) {
    if (piece.count() > 0) copy((offset + piece.global(0)) * size, 0, piece.count() * size);
    return;
  }
  for (std::int64_t i = 0; i < piece.count(); ++i) {
    copy((offset + piece.global(i)) * size, i * size, size);
  }
}

}  // namespace

std::vector<std::int64_t> global_sizes(const TensorType& type, const Setting& setting) {
  std::vector<std::int64_t> out;
  for (int axis = 0; axis < type.layout.axes(); ++axis) {
    if (has_own_dim(type.layout, axis)) out.push_back(setting.mesh.sizes[axis]);
  }
  for (const Dim& dim : type.shape) out.push_back(dim.bind(setting.sizes));
  return out;
}

Pieces scatter_global(const TensorType& type, const Setting& setting, const Bytes& global) {
  const int size = size_of(type.dtype.kind);
  const std::int64_t wanted = checked_product(product(global_sizes(type, setting)), size);
  if (static_cast<std::int64_t>(global.size()) != wanted) {
    throw UserError(ErrorKind::data, "a tensor of " + std::to_string(global.size()) +
                                         " bytes was given where its type needs " +
                                         std::to_string(wanted));
  }
  Pieces out(setting.mesh.ranks());
  for (int rank = 0; rank < setting.mesh.ranks(); ++rank) {
    const Piece piece = piece_of(type, setting, rank);
    out[rank].resize(piece.count() * size);
    for_each_run(piece, offset_of(type, setting, rank, piece.global_count()), size,
                 [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
                   std::memcpy(out[rank].data() + to, global.data() + from, bytes);
                 });
  }
  return out;
}

Bytes assemble(const TensorType& type, const Setting& setting, const Pieces& pieces) {
  check_pieces(type, setting, pieces, "a tensor");
  const int size = size_of(type.dtype.kind);
  Bytes out(product(global_sizes(type, setting)) * size);
  for (int rank = setting.mesh.ranks() - 1; rank >= 0; --rank) {
    const Piece piece = piece_of(type, setting, rank);
    for_each_run(piece, offset_of(type, setting, rank, piece.global_count()), size,
                 [&](std::int64_t to, std::int64_t from, std::int64_t bytes) {
                   std::memcpy(out.data() + to, pieces[rank].data() + from, bytes);
                 });
  }
  return out;
}

GlobalValue global_value(const TensorType& type, const Setting& setting, const Pieces& pieces) {
  GlobalValue out{type.dtype.kind, {}, assemble(type, setting, pieces)};
  std::vector<int> leading;  // mesh axes with a dim of their own
  std::int64_t partial_count = 1, local_count = 1;
  Fold fold = Fold::sum;
  for (int axis = 0; axis < type.layout.axes(); ++axis) {
    if (!has_own_dim(type.layout, axis)) continue;
    leading.push_back(axis);
    (type.layout.is<Local>(axis) ? local_count : partial_count) *= setting.mesh.sizes[axis];
    if (type.layout.is<Local>(axis)) out.sizes.push_back(setting.mesh.sizes[axis]);
    if (type.layout.is<Partial>(axis)) fold = std::get<Partial>(type.layout.at(axis)).fold;
  }
  const std::vector<std::int64_t> sizes = bind(type.shape, setting.sizes);
  out.sizes.insert(out.sizes.end(), sizes.begin(), sizes.end());
  if (type.layout.axes_that_are<Partial>().empty()) return out;

  const DTypeKind kind = type.dtype.kind;
  const std::int64_t elements = product(sizes);
  const Bytes stacked = std::move(out.bytes);
  out.kind = accumulator_of(kind);
  out.bytes.assign(local_count * elements * size_of(out.kind), std::byte{});
  std::vector<bool> begun(local_count, false);
  for (std::int64_t part = 0; part < local_count * partial_count; ++part) {
    std::int64_t rest = part, local = 0, scale = 1;  // `part` is row-major over the leading dims
    for (auto axis = leading.rbegin(); axis != leading.rend(); ++axis) {
      const int axis_size = setting.mesh.sizes[*axis];
      if (type.layout.is<Local>(*axis)) {
        local += rest % axis_size * scale;
        scale *= axis_size;
      }
      rest /= axis_size;
    }
    for (std::int64_t i = 0; i < elements; ++i) {
      const ScalarValue value = cast(load(kind, stacked.data(), part * elements + i), out.kind);
      const std::int64_t at = local * elements + i;
      const ScalarValue folded =
          begun[local] ? fold_step(fold, load(out.kind, out.bytes.data(), at), value) : value;
      store(folded, out.bytes.data(), at);
    }
    begun[local] = true;
  }
  return out;
}

void check_pieces(const TensorType& type, const Setting& setting, const Pieces& pieces,
                  const std::string& what) {
  if (type.layout.axes() != static_cast<int>(setting.mesh.sizes.size())) {
    throw UserError(ErrorKind::usage, "found " + std::to_string(setting.mesh.sizes.size()) +
                                          " mesh sizes; the type of " + what + " needs " +
                                          std::to_string(type.layout.axes()));
  }
  const int ranks = setting.mesh.ranks();
  if (static_cast<int>(pieces.size()) != ranks) {
    throw UserError(ErrorKind::data, what + " has " + std::to_string(pieces.size()) +
                                         " pieces; the mesh has " + std::to_string(ranks) +
                                         " ranks, and each needs one");
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t wanted = bytes_of(type, piece_of(type, setting, rank));
    if (static_cast<std::int64_t>(pieces[rank].size()) == wanted) continue;
    throw UserError(ErrorKind::data, what + " has " + std::to_string(pieces[rank].size()) +
                                         " bytes on rank " + std::to_string(rank) +
                                         "; its type needs " + std::to_string(wanted));
  }
}

}  // namespace coconet::interp
