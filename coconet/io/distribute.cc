#include "coconet/io/distribute.h"

#include <algorithm>
#include <cstring>

#include "coconet/base/error.h"

namespace coconet {
namespace {

bool has_leading_dim(const Layout& layout, int axis) {
  return layout.is<Partial>(axis) || layout.is<Local>(axis);
}

// How many elements from `local` on follow each other in the global tensor. Global indices rise
// strictly with local ones, so those between two ends that are as far apart globally as locally are
// all adjacent. `guess` is the length of the run before: mostly the same.
std::int64_t run_length(const Piece& piece, std::int64_t local, std::int64_t guess) {
  const std::int64_t first = piece.global(local);
  const auto adjacent = [&](std::int64_t length) {
    return local + length <= piece.count() &&
           piece.global(local + length - 1) - first == length - 1;
  };
  if (adjacent(piece.count() - local)) return piece.count() - local;
  if (adjacent(guess) && !adjacent(guess + 1)) return guess;
  std::int64_t good = 1;
  std::int64_t bad = piece.count() - local;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (adjacent(middle) ? good : bad) = middle;
  }
  return good;
}

// Calls copy(global element, local element, elements) for each run.
template <class Copy>
void for_each_run(const Piece& piece, Copy copy) {
  std::int64_t length = 1;
  for (std::int64_t local = 0; local < piece.count(); local += length) {
    length = run_length(piece, local, length);
    copy(piece.global(local), local, length);
  }
}

void take(const std::byte* global, const Piece& piece, std::int64_t size, std::byte* local) {
  for_each_run(piece, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::memcpy(local + to * size, global + from * size, static_cast<std::size_t>(count * size));
  });
}

void put(std::byte* global, const Piece& piece, std::int64_t size, const std::byte* local) {
  for_each_run(piece, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    std::memcpy(global + to * size, local + from * size, static_cast<std::size_t>(count * size));
  });
}

void check_local(const Piece& piece, std::int64_t size, std::span<const std::byte> local) {
  check(static_cast<std::int64_t>(local.size()) == piece.count() * size,
        "the bytes of a piece are its count times the dtype's size");
}

// The first element of the rank's entry in the leading dims.
std::int64_t entry_begin(const Piece& piece, const Layout& layout, const MeshSizes& mesh,
                         const std::vector<int>& coordinates) {
  std::int64_t entry = 0;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (has_leading_dim(layout, axis)) entry = entry * mesh.sizes[axis] + coordinates[axis];
  }
  return entry * piece.global_count();
}

}  // namespace

std::vector<std::int64_t> file_shape(const std::vector<std::int64_t>& sizes, const Layout& layout,
                                     const MeshSizes& mesh) {
  std::vector<std::int64_t> shape;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (has_leading_dim(layout, axis)) shape.push_back(mesh.sizes[axis]);
  }
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return shape;
}

std::vector<std::byte> take_piece(const TensorData& global, const Piece& piece) {
  check(global.shape == piece.sizes(), "a piece is taken from a tensor of its sizes");
  const std::int64_t size = size_of(global.dtype);
  std::vector<std::byte> local(static_cast<std::size_t>(piece.count() * size));
  take(global.bytes.data(), piece, size, local.data());
  return local;
}

void put_piece(TensorData& global, const Piece& piece, std::span<const std::byte> local) {
  check(global.shape == piece.sizes(), "a piece is put into a tensor of its sizes");
  const std::int64_t size = size_of(global.dtype);
  check_local(piece, size, local);
  put(global.bytes.data(), piece, size, local.data());
}

std::vector<std::byte> take_piece(const TensorData& file, const std::vector<std::int64_t>& sizes,
                                  const Layout& layout, const MeshSizes& mesh, int rank) {
  check(file.shape == file_shape(sizes, layout, mesh), "a tensor has the shape of its file");
  const std::vector<int> coordinates = mesh.coordinates(rank);
  const Piece piece(sizes, layout, mesh, coordinates);
  const std::int64_t size = size_of(file.dtype);
  std::vector<std::byte> local(static_cast<std::size_t>(piece.count() * size));
  const std::int64_t begin = entry_begin(piece, layout, mesh, coordinates);
  take(file.bytes.data() + begin * size, piece, size, local.data());
  return local;
}

void put_piece(TensorData& file, const std::vector<std::int64_t>& sizes, const Layout& layout,
               const MeshSizes& mesh, int rank, std::span<const std::byte> local) {
  check(file.shape == file_shape(sizes, layout, mesh), "a tensor has the shape of its file");
  const std::vector<int> coordinates = mesh.coordinates(rank);
  const Piece piece(sizes, layout, mesh, coordinates);
  const std::int64_t size = size_of(file.dtype);
  check_local(piece, size, local);
  const std::int64_t begin = entry_begin(piece, layout, mesh, coordinates);
  put(file.bytes.data() + begin * size, piece, size, local.data());
}

}  // namespace coconet
