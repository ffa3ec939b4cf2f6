// Which operations map chunk c of what they read to chunk c of what they make.
#pragma once

#include <optional>
#include <variant>

#include "coconet/schedule/region.h"

namespace coconet {

// Why the nodes of `set` cannot run chunk by chunk along `slice` of tensors shaped like `shape`; if
// nothing stands against it, *chunked, if given: the nodes that are made chunk by chunk.
std::optional<Refusal> refuse_chunks(const Graph& graph, const NodeSet& set, const Slice& slice,
                                     const Shape& shape, NodeSet* chunked = nullptr);

// The slice along which `set` can run chunk by chunk: that of its collectives or, if it has none,
// the most rows that every operation accepts, else (*).
Verdict<Slice> chunk_slice(const Graph& graph, const NodeSet& set, NodeSet* chunked = nullptr);

}  // namespace coconet
