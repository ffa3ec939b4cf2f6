#include "coconet/schedule/chunking.h"

#include <algorithm>

namespace coconet {
namespace {

// How a node of the set relates to the chunks.
enum class Grain {
  none,     // not in the set
  ready,    // needs no chunk: a scalar of scalars, a literal
  chunked,  // chunk c of it needs chunk c of what it reads
  late      // needs all chunks
};

class Chunker {
 public:
  Chunker(const Graph& graph, const NodeSet& set, const Slice& slice, const Shape& shape)
      : graph_(graph), set_(set), slice_(slice), shape_(shape), grain_(graph.size(), Grain::none) {}

  std::optional<Refusal> refuse() {
    for (NodeId id : list_of(set_)) {
      for (NodeId input : graph_.node(id).inputs) {
        if (grain_[input.index] == Grain::late) return refuse_late(input, id);
      }
      if (auto refusal = place(id)) return refusal;
    }
    return std::nullopt;
  }

  NodeSet chunked() const {
    NodeSet out = none_of(graph_);
    for (int i = 0; i < graph_.size(); ++i) out[i] = grain_[i] == Grain::chunked;
    return out;
  }

 private:
  Refusal refuse_late(NodeId late, NodeId reader) const {
    return {quoted(graph_, late) + " needs all chunks, so it may only come last, but " +
                quoted(graph_, reader) + " reads it; overlap what stands before it",
            late};
  }

  // The value has the dims that chunks cut.
  bool spans(NodeId id) const {
    const Shape& shape = graph_.node(id).type.shape;
    if (slice_.flat) return shape == shape_;
    if (shape.size() != shape_.size()) return false;
    for (int d = slice_.first; d <= slice_.last; ++d) {
      if (!(shape[d] == shape_[d])) return false;
    }
    return true;
  }

  bool reads_chunks(NodeId id) const {
    const auto chunked = [this](NodeId input) { return grain_[input.index] == Grain::chunked; };
    return std::ranges::any_of(graph_.node(id).inputs, chunked);
  }

  // If it maps chunk to chunk: chunked where it has the cut dims; what reads chunks and has not
  // needs them all.
  Grain grain_of(NodeId id, bool maps_chunks) const {
    if (maps_chunks && spans(id)) return Grain::chunked;
    return reads_chunks(id) ? Grain::late : Grain::ready;
  }

  std::optional<Refusal> place(NodeId id) {
    const Node& node = graph_.node(id);
    std::optional<Refusal> refusal;
    const auto set = [&](bool maps_chunks) { grain_[id.index] = grain_of(id, maps_chunks); };
    std::visit(
        Overloaded{[&](const Matmul&) { refusal = place_matmul(id); },
                   [&](const Conv2d&) { refusal = place_conv2d(id); },
                   [&](const Reduce& op) { set(!op.dims.empty() && !cuts(op.dims)); },
                   [&](const LayerNorm&) { set(has_rows(id)); },
                   [&](const RmsNorm&) { set(has_rows(id)); },
                   [&](const Softmax&) { set(has_rows(id)); },
                   [&](const Transpose&) { set(false); },
                   [&](const Reshape&) { set(false); },
                   [&](const Narrow&) { set(false); },
                   [&](const Concat&) { set(false); },
                   [&](const Norm&) { set(false); },
                   [&](const BlockReduce&) { set(false); },
                   [&](const FoldBlocks&) { set(false); },
                   [&](const Across&) { set(false); },
                   [&](const ReduceScatter& op) { refusal = place_collective(id, op.slice); },
                   [&](const AllGather& op) { refusal = place_gather(id, op.axes); },
                   [&](const Shard& op) { refusal = place_shard(id, op.slice); },
                   [&](const ReduceTo&) { refusal = refuse_root(id); },
                   [&](const Broadcast&) { refusal = refuse_root(id); },
                   [&](const Input&) { set(false); },
                   [&](const Constant&) { set(false); },
                   [&](const AxisSize&) { set(false); },
                   [&](const DimSize&) { set(false); },
                   [&](const Pointwise&) { set(true); },
                   [&](const Cast&) { set(true); },
                   [&](const Dropout&) { set(true); },
                   [&](const Update&) { set(true); },
                   [&](const AllReduce&) { set(true); },
                   [&](const RootOf&) { set(true); },
                   [&](const Shift&) { set(true); },
                   [&](const AllToAll& op) { refusal = place_exchange(id, op.from); },
                   [&](const Stack&) { set(true); },
                   [&](const AsPartial&) { set(true); }},
        node.op);
    return refusal;
  }

  // The slices leave rows of the last dim whole.
  bool has_rows(NodeId id) const {
    return !slice_.flat && slice_.last < graph_.node(id).type.rank() - 1;
  }

  bool cuts(const std::vector<int>& dims) const {
    return std::ranges::any_of(dims, [this](int dim) { return slice_.has(dim); });
  }

  std::optional<Refusal> place_matmul(NodeId id) {
    const Node& node = graph_.node(id);
    const int rows = node.type.rank() - 1;  // dims before the last
    if (slice_.flat || slice_.last >= rows || !spans(id)) {
      const std::string legal = rows > 1 ? "(0.." + std::to_string(rows - 1) + ")" : "(0)";
      return Refusal{quoted(graph_, id) +
                         " is a matmul, which makes chunks of rows, but the "
                         "chunks are cut along " +
                         slice_.text() + "; split with a row slice " + legal + " instead",
                     id};
    }
    const bool other = grain_[node.inputs[1].index] == Grain::chunked ||
                       (std::get<Matmul>(node.op).ta && reads_chunks(id));
    grain_[id.index] = other ? Grain::late : Grain::chunked;
    return std::nullopt;
  }

  // Chunks of images: it needs rows of one beyond those of its own chunk.
  std::optional<Refusal> place_conv2d(NodeId id) {
    if (!(slice_ == Slice::dim(0)) || !spans(id)) {
      return Refusal{quoted(graph_, id) +
                         " is a conv2d, which makes chunks of its dim 0, but the " +
                         "chunks are cut along " + slice_.text() + "; split with (0) instead",
                     id};
    }
    const bool weight = grain_[graph_.node(id).inputs[1].index] == Grain::chunked;
    grain_[id.index] = weight ? Grain::late : Grain::chunked;
    return std::nullopt;
  }

  std::optional<Refusal> place_collective(NodeId id, const Slice& slice) {
    if (!(slice == slice_)) {
      return Refusal{quoted(graph_, id) + " is over slices " + slice.text() +
                         ", but the chunks are cut along " + slice_.text() +
                         "; the members of an overlap need one slice",
                     id};
    }
    grain_[id.index] = Grain::chunked;
    return std::nullopt;
  }

  std::optional<Refusal> place_gather(NodeId id, const AxisList& axes) {
    const NodeId operand = graph_.node(id).inputs[0];
    if (op_as<BlockReduce>(graph_, operand)) {
      grain_[id.index] = grain_of(id, false);
      return std::nullopt;
    }
    return place_collective(id, graph_.node(operand).type.layout.slice(axes[0]));
  }

  // It sends chunk by chunk, but a rank has no chunk of its new slice before all are sent.
  std::optional<Refusal> place_exchange(NodeId id, const Slice& from) {
    auto refusal = place_collective(id, from);
    grain_[id.index] = Grain::late;
    return refusal;
  }

  std::optional<Refusal> place_shard(NodeId id, const Slice& slice) {
    if (reads_chunks(id)) return place_collective(id, slice);
    grain_[id.index] = grain_of(id, true);
    return std::nullopt;
  }

  Refusal refuse_root(NodeId id) const {
    return {quoted(graph_, id) + " is " + std::string(name_of(graph_.node(id).op)) +
                ", which has no slices to take chunks of; split into reduce_scatter and all_gather",
            id};
  }

  const Graph& graph_;
  const NodeSet& set_;
  const Slice& slice_;
  const Shape& shape_;
  std::vector<Grain> grain_;
};

// The collective whose slice cuts the chunks, and the slice.
struct Cutter {
  NodeId id;
  Slice slice;
};
std::optional<Cutter> first_collective(const Graph& graph, const NodeSet& set) {
  for (NodeId id : list_of(set)) {
    if (const ReduceScatter* op = op_as<ReduceScatter>(graph, id)) return Cutter{id, op->slice};
    if (const AllToAll* op = op_as<AllToAll>(graph, id)) return Cutter{id, op->from};
    const AllGather* gather = op_as<AllGather>(graph, id);
    const NodeId operand = gather ? graph.node(id).inputs[0] : NodeId{};
    if (gather && !op_as<BlockReduce>(graph, operand)) {
      return Cutter{id, graph.node(operand).type.layout.slice(gather->axes[0])};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse_chunks(const Graph& graph, const NodeSet& set, const Slice& slice,
                                     const Shape& shape, NodeSet* chunked) {
  Chunker chunker(graph, set, slice, shape);
  if (auto refusal = chunker.refuse()) return refusal;
  if (chunked) *chunked = chunker.chunked();
  return std::nullopt;
}

Verdict<Slice> chunk_slice(const Graph& graph, const NodeSet& set, NodeSet* chunked) {
  if (const auto cutter = first_collective(graph, set)) {
    const Shape& shape = graph.node(cutter->id).type.shape;
    if (auto refusal = refuse_chunks(graph, set, cutter->slice, shape, chunked)) return *refusal;
    return cutter->slice;
  }
  std::optional<NodeId> widest;
  for (NodeId id : list_of(set)) {
    if (!widest || graph.node(id).type.rank() > graph.node(*widest).type.rank()) widest = id;
  }
  const Shape& shape = graph.node(*widest).type.shape;
  std::optional<Refusal> first;
  for (int end = static_cast<int>(shape.size()) - 1; end >= 0; --end) {
    const Slice slice = end > 0 ? Slice::range(0, end - 1) : Slice::all();
    auto refusal = refuse_chunks(graph, set, slice, shape, chunked);
    if (!refusal) return slice;
    if (!first) first = refusal;
  }
  if (!first) first = Refusal{"scalars have no chunks", *widest};
  return *first;
}

}  // namespace coconet
