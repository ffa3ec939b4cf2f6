// Between a global tensor, as files and users have it, and the ranks' pieces.
//
// A local or partial axis of a type has no one global tensor: a tensor of that type is held with
// one leading dim per such axis, in mesh order, of that axis's size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coconet/interp/value.h"

namespace coconet::interp {

// The bound shape with its leading dims for local and partial axes.
std::vector<std::int64_t> global_sizes(const TensorType& type, const Setting& setting);

// Cuts a tensor of global_sizes(type), row-major, into the ranks' pieces. UserError(data) if its
// size is another.
Pieces scatter_global(const TensorType& type, const Setting& setting, const Bytes& global);

// The opposite: the row-major tensor of global_sizes(type). Of ranks that hold the same elements
// the lowest is read. UserError(data) if a piece has another size than its type says.
Bytes assemble(const TensorType& type, const Setting& setting, const Pieces& pieces);

// The global value: as `assemble`, but partial axes are folded in rank order and have no dim. With
// a partial axis of a 16-bit dtype it is the f32 fold, not yet rounded.
struct GlobalValue {
  DTypeKind kind = DTypeKind::f32;
  std::vector<std::int64_t> sizes;  // leading dims for local axes
  Bytes bytes;
};
GlobalValue global_value(const TensorType& type, const Setting& setting, const Pieces& pieces);

// UserError(data), naming `what`, unless there is one piece per rank, each of the size that its
// type says.
void check_pieces(const TensorType& type, const Setting& setting, const Pieces& pieces,
                  const std::string& what);

}  // namespace coconet::interp
