// Which elements of a global tensor a rank holds: the one place that knows.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/type/dim.h"
#include "coconet/type/layout.h"

namespace coconet {

// `sizes` and, under their names, those of the mesh's axes. UserError as of check_mesh, and for a
// size below 0.
Sizes with_axes(Sizes sizes, const Mesh& mesh, const MeshSizes& mesh_sizes);

// A cut of `total` rows into `parts`: part i has rows [begin, begin + count). ceil(total/parts)
// rows each, the last ones shorter or empty; with grain > 1 the cut falls on multiples of it.
struct Cut {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};
Cut cut(std::int64_t total, int parts, int part, std::int64_t grain = 1);

// The piece of a tensor of bound shape that one rank holds under a layout, stored densely in
// row-major order of what is left of each dim. Partial and local axes hold a whole tensor each; a
// rooted one nothing but at its root.
class Piece {
 public:
  // A run of dims taken as one index, cut to [begin, begin + count) of `total`. `children` (major
  // first) are what the index is made of before the cut; none: it is the whole of tensor dim `dim`.
  struct Group {
    std::int64_t total = 1, begin = 0, count = 1;
    int dim = -1;
    std::vector<Group> children;
    bool whole() const { return count == total; }
  };

  Piece(std::vector<std::int64_t> sizes, const Layout& layout, const MeshSizes& mesh,
        const std::vector<int>& coordinates);

  const std::vector<std::int64_t>& sizes() const { return sizes_; }  // of the global tensor
  // Major first; every dim of the tensor is in exactly one.
  const std::vector<Group>& groups() const { return groups_; }
  std::int64_t count() const { return count_; }  // elements held
  std::int64_t global_count() const { return global_count_; }
  // The row-major index in the global tensor of held element `local` (0 <= local < count()).
  std::int64_t global(std::int64_t local) const;
  // True if what is held is one contiguous run of the global tensor's flat index; its first is
  // global(0).
  bool contiguous() const;

 private:
  void slice_flat(const Slice& slice, int parts, int part);

  std::vector<std::int64_t> sizes_;
  std::vector<Group> groups_;
  std::int64_t count_ = 0;
  std::int64_t global_count_ = 1;
};

// The most elements that any rank of the mesh holds: the size of a symmetric buffer.
std::int64_t largest_piece(const std::vector<std::int64_t>& sizes, const Layout& layout,
                           const MeshSizes& mesh);

}  // namespace coconet
