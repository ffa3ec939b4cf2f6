// Named axes of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coconet {

// The axes of a mesh; sizes are bound at run time. Ranks are numbered row-major, the last axis
// fastest.
struct Mesh {
  std::string name;
  std::vector<std::string> axes;

  int size() const { return static_cast<int>(axes.size()); }
  std::optional<int> axis(std::string_view name) const;
  std::string text() const;  // "world(dp, tp)"
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

using AxisList = std::vector<int>;  // mesh axes

// "@tp", "@[dp,tp]"; "" for all axes of a mesh of one axis, where it may be left out.
std::string text_of_axes(const Mesh& mesh, const AxisList& axes);

// The bound sizes of a mesh's axes.
struct MeshSizes {
  std::vector<int> sizes;  // each >= 1

  int ranks() const;
  std::vector<int> coordinates(int rank) const;
  int rank(const std::vector<int>& coordinates) const;
  // The rank `by` further on `axis`, around its end if `wrap`; none beyond the end.
  std::optional<int> shifted(int rank, int axis, std::int64_t by, bool wrap) const;
  // The ranks that differ from `rank` on `axes` only, in rank order (rank itself among them).
  std::vector<int> group(int rank, const AxisList& axes) const;
};

// UserError(usage) unless there is one size for each axis, of at least one rank.
void check_mesh(const Mesh& mesh, const MeshSizes& sizes);

}  // namespace coconet
